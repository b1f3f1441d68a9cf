import { CHARGE_TEXT } from '../functions/charge-text.ts';
import { WRITE_TEXT } from '../functions/write-text.ts';
import { neverDeleted } from './0001-foundations.ts';

/**
 * Text requests: the processes that serve them, the holds of requests in progress, and the usage of completed ones.
 *
 * - A hold is a reservation in the ledger and a row in `text_holds`, which has all that is needed to end the request
 *   without the process that started it. Ending a request deletes that row, so a request ends once.
 * - `text_requests` has a row for each completed request. `held` is what was held when the request was charged,
 *   `charge` the price of the usage, `excess` the part above the hold that the account paid and `absorbed` the part
 *   that nobody paid.
 * - A request whose process died is `abandoned` and free. If that process was only unreachable, its report still
 *   counts: the row is replaced, once, and the charge is taken as excess.
 * - A slot is one of the few requests to free models that an account has in a minute. Unlogged: after a crash of the
 *   database, the slots of the last minute are free again.
 * - Rows refer to accounts and keys without foreign keys: the ledger's trigger refuses unknown ones, and a check for
 *   each row would cost more than the row.
 */
export const TEXT = /* sql */ `
CREATE TABLE processes (
  id uuid PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  -- Since when its heartbeats have arrived without a long gap.
  heard_since timestamptz NOT NULL DEFAULT now(),
  -- When the oldest request started that was in progress at its last heartbeat; infinity if there was none.
  waits_since timestamptz,
  -- A time at which that was already known: a heartbeat may be executed long after it was sent.
  waits_as_of timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

CREATE TABLE text_holds (
  id text COLLATE "C" PRIMARY KEY,
  process_id uuid NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  reservation_id text COLLATE "C",
  opened_at timestamptz(3) NOT NULL,
  amount pico_usd NOT NULL,
  signup_amount pico_usd NOT NULL,
  funded_only boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  request_id text NOT NULL,
  model text NOT NULL,
  format text NOT NULL,
  streamed boolean NOT NULL,
  catalogue_version text NOT NULL,
  CONSTRAINT text_holds_reserve_what_they_hold CHECK ((amount = 0) = (reservation_id IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

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
  format text NOT NULL CHECK (format IN ('chat-completions', 'responses', 'messages', 'generate-content')),
  streamed boolean NOT NULL,
  upstream text,
  upstream_format text,
  -- The upstream's name for the model.
  upstream_model text,
  outcome text NOT NULL CHECK (outcome IN ('succeeded', 'disconnected', 'failed', 'abandoned')),
  error_code text,
  catalogue_version text NOT NULL,
  modifiers jsonb,
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  cache_read_tokens bigint NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_tokens bigint NOT NULL CHECK (cache_write_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  reasoning_tokens bigint CHECK (reasoning_tokens >= 0),
  -- How many calls of the upstream used the tokens.
  calls smallint NOT NULL DEFAULT 1 CHECK (calls >= 1),
  estimated boolean NOT NULL,
  held pico_usd NOT NULL,
  charge pico_usd NOT NULL,
  excess pico_usd NOT NULL,
  absorbed pico_usd NOT NULL,
  reservation_id text COLLATE "C",
  opened_at timestamptz(3),
  latency_ms integer,
  first_byte_ms integer,
  PRIMARY KEY (id, created_at),
  CONSTRAINT text_requests_failed_has_code CHECK ((outcome = 'failed') = (error_code IS NOT NULL)),
  CONSTRAINT text_requests_answers_cost CHECK (charge = 0 OR outcome IN ('succeeded', 'disconnected')),
  CONSTRAINT text_requests_charge_is_paid_or_absorbed CHECK (excess + absorbed = greatest(charge - held, 0))
) PARTITION BY RANGE (created_at);
CREATE INDEX text_requests_by_account ON text_requests (account_id, created_at);
CREATE TRIGGER text_requests_are_final BEFORE UPDATE ON text_requests FOR EACH ROW
  WHEN (OLD.outcome <> 'abandoned' OR (OLD.id, OLD.created_at, OLD.account_id, OLD.api_key_id, OLD.model)
    IS DISTINCT FROM (NEW.id, NEW.created_at, NEW.account_id, NEW.api_key_id, NEW.model))
  EXECUTE FUNCTION refuse_change();
${neverDeleted('text_requests')}
CREATE INDEX text_requests_failed ON text_requests (id) INCLUDE (created_at, error_code, outcome)
  WHERE outcome <> 'succeeded';

${CHARGE_TEXT}
${WRITE_TEXT}
`;
