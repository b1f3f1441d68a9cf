-- Text: the processes that serve it, the allowances that they spend, and the usage of completed requests.
--
-- - An allowance is money of an account and a key that one process may spend while its lease is valid: `amount` of it
--   is neither charged nor released yet. A row without money is deleted. `recalled_at` requests the return of the money
--   that no request holds; `answered_at` is when the process last returned it.
-- - An allowance counts towards budgets, by which allowances of a key differ: each is for the requests that count towards
--   the same budgets. There is no foreign key to the budgets, which may be deleted before their allowances return.
-- - `text_requests` has a row for each completed request. `held` is its hold, `charge` the price of the usage, `excess`
--   the part above the hold that the account paid, and `absorbed` the part that nobody paid.
-- - `failed_text_attempts` has the attempts that failed after their upstream reported usage or sent output, which the
--   vendor may bill. The usage that clients pay for is in `text_requests`. `number` counts only attempts with a row.
-- - A slot is one of the few requests per minute to free models that an account has. The table is unlogged: after a
--   crash of the database, the slots of the last minute are free again.
-- - A stored response can be continued and referred to until it expires; each use postpones the expiry. Its content,
--   the new input and the response, is encrypted. `previous_id` is the stored response that it continues; without that
--   row, the conversation cannot be continued.
-- - Rows refer to accounts and keys without foreign keys: the ledger's trigger refuses unknown ones, and a check for
--   each row would cost more than the row.

CREATE TABLE processes (
  id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now(),
  -- When it last renewed its lease.
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since when its heartbeats have arrived without a long gap.
  heard_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_write bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 25);

CREATE TABLE text_allowances (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^alw_[0-9a-z]+$'),
  process_id uuid NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  budget_ids text[] COLLATE "C" NOT NULL DEFAULT '{}',
  amount pico_usd NOT NULL,
  signup_amount pico_usd NOT NULL,
  opened_at timestamptz(3) NOT NULL,
  recalled_at timestamptz(3),
  answered_at timestamptz(3),
  CONSTRAINT text_allowances_signup_is_a_part CHECK (signup_amount <= amount)
) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX text_allowances_by_process ON text_allowances (process_id);
CREATE INDEX text_allowances_by_account ON text_allowances (account_id);

CREATE UNLOGGED TABLE text_free_slots (
  account_id text COLLATE "C" NOT NULL,
  text_request_id text COLLATE "C" NOT NULL,
  taken_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, text_request_id)
);

CREATE TABLE text_requests (
  id text COLLATE "C" NOT NULL CHECK (length(id) = 36 AND id ~ '^txt_[0-9a-z]+$'),
  created_at timestamptz(3) NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  request_id text NOT NULL,
  model text NOT NULL,
  format text NOT NULL CHECK (format IN ('chat-completions', 'responses', 'messages', 'generate-content', 'embeddings', 'rerank', 'speech', 'transcriptions', 'translations', 'realtime')),
  streamed boolean NOT NULL,
  upstream text,
  upstream_format text,
  -- The upstream's name for the model.
  upstream_model text,
  outcome text NOT NULL CHECK (outcome IN ('succeeded', 'disconnected', 'failed')),
  error_code text,
  catalogue_version text NOT NULL,
  -- The version of the customer's price list that changed those prices, if one did.
  price_list text COLLATE "C",
  -- The end user whom the request names; null for none, and once the name is erased.
  end_user text COLLATE "C" CHECK (length(end_user) BETWEEN 1 AND 128),
  -- The batch that the request belongs to; null for a direct request.
  batch_id text COLLATE "C" CHECK (batch_id ~ '^batch_[0-9a-z]{32}$'),
  -- The part of the operator's cost that the vendor charges for a request in its own batch; null for the whole cost.
  cost_factor numeric CHECK (cost_factor > 0),
  modifiers jsonb,
  input_tokens usage_count NOT NULL DEFAULT 0,
  cache_read_tokens usage_count NOT NULL DEFAULT 0,
  cache_write_tokens usage_count NOT NULL DEFAULT 0,
  cache_write_1h_tokens usage_count NOT NULL DEFAULT 0,
  output_tokens usage_count NOT NULL DEFAULT 0,
  audio_input_tokens usage_count NOT NULL DEFAULT 0,
  audio_cache_read_tokens usage_count NOT NULL DEFAULT 0,
  audio_output_tokens usage_count NOT NULL DEFAULT 0,
  characters usage_count NOT NULL DEFAULT 0,
  audio_seconds usage_count NOT NULL DEFAULT 0,
  web_searches usage_count NOT NULL DEFAULT 0,
  search_units usage_count NOT NULL DEFAULT 0,
  reasoning_tokens usage_count,
  -- How many calls of the upstream used the tokens.
  calls smallint NOT NULL DEFAULT 1 CHECK (calls >= 1),
  estimated boolean NOT NULL,
  held pico_usd NOT NULL,
  charge pico_usd NOT NULL,
  excess pico_usd NOT NULL,
  absorbed pico_usd NOT NULL,
  latency_ms integer,
  first_byte_ms integer,
  PRIMARY KEY (id, created_at),
  CONSTRAINT text_requests_kept_for_1h_is_a_part CHECK (cache_write_1h_tokens <= cache_write_tokens),
  CONSTRAINT text_requests_audio_is_a_part CHECK (audio_input_tokens <= input_tokens
    AND audio_output_tokens <= output_tokens AND audio_cache_read_tokens <= least(audio_input_tokens, cache_read_tokens)),
  CONSTRAINT text_requests_failed_has_code CHECK ((outcome = 'failed') = (error_code IS NOT NULL)),
  CONSTRAINT text_requests_answers_cost CHECK (charge = 0 OR outcome <> 'failed'),
  CONSTRAINT text_requests_charge_is_paid_or_absorbed CHECK (excess + absorbed = greatest(charge - held, 0))
) PARTITION BY RANGE (created_at);
CREATE INDEX text_requests_by_account ON text_requests (account_id, created_at);
-- With everything that usage by end user adds up, so that it reads no rows.
CREATE INDEX text_requests_of_end_users ON text_requests (account_id, created_at)
  INCLUDE (end_user, outcome, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
    audio_input_tokens, audio_cache_read_tokens, audio_output_tokens, characters, audio_seconds, web_searches,
    search_units, charge, absorbed)
  WHERE end_user IS NOT NULL;
CREATE INDEX text_requests_by_end_user ON text_requests (end_user, id) INCLUDE (account_id) WHERE end_user IS NOT NULL;
CREATE INDEX text_requests_by_batch ON text_requests (batch_id, created_at, id) WHERE batch_id IS NOT NULL;
CREATE TRIGGER text_requests_are_kept BEFORE DELETE ON text_requests FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER text_requests_not_truncated BEFORE TRUNCATE ON text_requests FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION check_text_request_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  OLD.end_user := NULL;
  IF NEW IS DISTINCT FROM OLD THEN
    RAISE EXCEPTION 'nothing of a text request changes but the name of its end user, which can be erased'
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER text_requests_change_lawfully BEFORE UPDATE ON text_requests FOR EACH ROW
  EXECUTE FUNCTION check_text_request_change();

CREATE TABLE failed_text_attempts (
  text_request_id text COLLATE "C" NOT NULL CHECK (length(text_request_id) = 36 AND text_request_id ~ '^txt_[0-9a-z]+$'),
  number integer NOT NULL CHECK (number > 0),
  -- When the request started: its costs may have peaks.
  created_at timestamptz(3) NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  model text NOT NULL,
  upstream text NOT NULL,
  upstream_model text NOT NULL,
  catalogue_version text NOT NULL,
  input_tokens usage_count NOT NULL DEFAULT 0,
  cache_read_tokens usage_count NOT NULL DEFAULT 0,
  cache_write_tokens usage_count NOT NULL DEFAULT 0,
  cache_write_1h_tokens usage_count NOT NULL DEFAULT 0,
  output_tokens usage_count NOT NULL DEFAULT 0,
  audio_input_tokens usage_count NOT NULL DEFAULT 0,
  audio_cache_read_tokens usage_count NOT NULL DEFAULT 0,
  audio_output_tokens usage_count NOT NULL DEFAULT 0,
  characters usage_count NOT NULL DEFAULT 0,
  audio_seconds usage_count NOT NULL DEFAULT 0,
  web_searches usage_count NOT NULL DEFAULT 0,
  search_units usage_count NOT NULL DEFAULT 0,
  reasoning_tokens usage_count,
  estimated boolean NOT NULL,
  PRIMARY KEY (text_request_id, number)
);
CREATE INDEX failed_text_attempts_by_time ON failed_text_attempts (created_at, text_request_id, number);
CREATE TRIGGER failed_text_attempts_are_kept BEFORE UPDATE OR DELETE ON failed_text_attempts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER failed_text_attempts_not_truncated BEFORE TRUNCATE ON failed_text_attempts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE stored_responses (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  -- The id in the client's answer. Upstreams choose the ids that Genway passes on, and may choose one twice.
  response_id text COLLATE "C" NOT NULL,
  item_ids text[] COLLATE "C" NOT NULL,
  previous_id text COLLATE "C",
  encrypted_content bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX stored_responses_by_response ON stored_responses (account_id, response_id);
CREATE INDEX stored_responses_by_item ON stored_responses USING gin (item_ids);
CREATE INDEX stored_responses_by_age ON stored_responses (account_id, created_at);
CREATE INDEX stored_responses_by_expiry ON stored_responses (expires_at);

CREATE TYPE text_settlement AS (id text, created_at timestamptz(3), account_id text, api_key_id text, request_id text,
  model text, format text, streamed boolean, upstream text, upstream_format text, upstream_model text, outcome text,
  error_code text, catalogue_version text, price_list text, end_user text, batch_id text, cost_factor numeric, modifiers jsonb, input_tokens bigint,
  cache_read_tokens bigint, cache_write_tokens bigint, cache_write_1h_tokens bigint, output_tokens bigint,
  audio_input_tokens bigint, audio_cache_read_tokens bigint, audio_output_tokens bigint, characters bigint, audio_seconds bigint,
  web_searches bigint, search_units bigint,
  reasoning_tokens bigint, calls smallint, estimated boolean, charge numeric, latency_ms integer, first_byte_ms integer,
  held numeric, allowance_id text, paid numeric, paid_signup numeric, charge_id text, funded_only boolean,
  releases_slot boolean, failed_attempts jsonb, batch_line jsonb);
