-- Actions and overrides of operators, reports of processes, and the monthly partitions.
--
-- - `operator_actions` are actions on tasks, batches, accounts, registrations and their blocks, including reading
--   prompts, with author and reason. A task is cancelled by a single action.
-- - `admin_tokens` are the admin tokens of people and programs, as digests, without the token in the environment. One
--   name may have several tokens, so that a new token is in use before the old one is revoked. An action is recorded in
--   `admin_actions` before it is carried out.
-- - `upstream_overrides` and `model_overrides` are the operators' overrides. The latest row that covers a
--   model applies.
-- - `configurations` records when each process loaded or refused which version of the operator's files, and why it
--   refused.
-- - `upstream_calls` sums the calls of upstreams by all processes, by minute and by hour; the hours are kept for the
--   history of the status. `upstream_call_failures` sums the failures of these calls by reason and account, also by
--   minute and by hour. A media job that an upstream accepted counts when it ends. `upstream_failures` has the latest failure of each key, model and fault. `text_attempts` has the
--   attempts of text requests with a failure. Each process has its own circuits for text: `process_circuits` has the
--   open ones, as each process last reported them. `format` and `key` are empty for media; `upstream` is also empty for
--   the checks of webhooks.
-- - `poll_problems` has, for each media upstream and model, the latest word for the state of a job that Genway does not
--   know and that the upstream repeated for a minute, and the latest reason of polls of a job that failed for a minute.
-- - `refused_calls` has the calls of the last day that Genway refused with a status from 400 to 429 or with 503. Equal calls of an
--   hour share a row, with the ids and the reasons of the latest ones, newest first. `method` and `path` are empty in a row for calls beyond the limit of rows. Rows refer to keys
--   without foreign keys. The table is unlogged: after a crash of the database, its rows are gone.
-- - `live_overload` has the last moment at which a process refused live requests because it was overloaded: batches wait.
-- - `secret_marks` shows a process at its start whether it has the secrets that encrypted the data.
-- - `carried_balances` and `carried_usage` hold the sums of the transfers of detached months, so that balances and
--   `used` of keys can still be compared with the ledger.

CREATE TABLE operator_actions (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^act_[0-9a-z]+$'),
  task_id text COLLATE "C",
  task_created_at timestamptz(3),
  kind text NOT NULL CHECK (kind IN ('cancel', 'redeliver', 'read_prompt', 'pause', 'resume', 'retry', 'edit', 'price',
    'suspend', 'reopen', 'erase', 'close', 'merge', 'approve', 'reject', 'block', 'lift')),
  author text NOT NULL CHECK (author <> ''),
  reason text NOT NULL CHECK (reason <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  account_id text COLLATE "C" REFERENCES accounts,
  batch_id text COLLATE "C" CHECK (batch_id ~ '^batch_[0-9a-z]{32}$'),
  -- A registration, which may be removed later, or a block of registrations.
  registration_id text COLLATE "C" CHECK (registration_id ~ '^(reg|blk)_[0-9a-z]{32}$'),
  CONSTRAINT operator_actions_are_about_one_thing CHECK (
    num_nonnulls(task_id, account_id, batch_id, registration_id) = 1 AND (task_id IS NULL) = (task_created_at IS NULL))
);
CREATE INDEX operator_actions_by_task ON operator_actions (task_id, created_at);
CREATE UNIQUE INDEX operator_actions_one_cancel ON operator_actions (task_id) WHERE kind = 'cancel';
CREATE INDEX operator_actions_by_account ON operator_actions (account_id, created_at) WHERE account_id IS NOT NULL;
CREATE INDEX operator_actions_by_batch ON operator_actions (batch_id, created_at) WHERE batch_id IS NOT NULL;
CREATE INDEX operator_actions_by_registration ON operator_actions (registration_id, created_at)
  WHERE registration_id IS NOT NULL;
CREATE TRIGGER operator_actions_are_kept BEFORE UPDATE OR DELETE ON operator_actions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER operator_actions_not_truncated BEFORE TRUNCATE ON operator_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Not a foreign key, because an action stays when the month of its task is detached.
CREATE FUNCTION check_action_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM tasks WHERE id = NEW.task_id AND created_at = NEW.task_created_at;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no task %', NEW.task_id
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER operator_actions_task_exists AFTER INSERT ON operator_actions
  FOR EACH ROW WHEN (NEW.task_id IS NOT NULL) EXECUTE FUNCTION check_action_task();

CREATE TABLE admin_tokens (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^adm_[0-9a-z]+$'),
  name text NOT NULL CHECK (name <> ''),
  role text NOT NULL CHECK (role IN ('operator', 'finance', 'readonly')),
  digest bytea NOT NULL UNIQUE,
  -- Enough of the token to recognise it.
  hint text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

CREATE TABLE admin_actions (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^adc_[0-9a-z]+$'),
  author text NOT NULL CHECK (author <> ''),
  -- Null for the token in the environment.
  token_id text COLLATE "C" REFERENCES admin_tokens,
  -- The operationId of the API description.
  action text NOT NULL,
  path text NOT NULL,
  -- The account that the path leads to; null if the path names no account nor anything of an account.
  account_id text COLLATE "C" REFERENCES accounts,
  -- As sent, before any check.
  reason text CHECK (reason <> ''),
  request_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX admin_actions_by_author ON admin_actions (author, id);
CREATE INDEX admin_actions_by_account ON admin_actions (account_id, id) WHERE account_id IS NOT NULL;
CREATE TRIGGER admin_actions_are_kept BEFORE UPDATE OR DELETE ON admin_actions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER admin_actions_not_truncated BEFORE TRUNCATE ON admin_actions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE upstream_overrides (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  upstream text NOT NULL CHECK (upstream <> ''),
  -- The upstream's name for the model; null for all of its models.
  model text CHECK (model <> ''),
  kind text NOT NULL CHECK (kind IN ('rest', 'resume')),
  -- The end of the rest.
  until timestamptz,
  author text NOT NULL CHECK (author <> ''),
  reason text NOT NULL CHECK (reason <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT upstream_overrides_rests_end CHECK ((kind = 'rest') = (until IS NOT NULL))
);
CREATE INDEX upstream_overrides_by_upstream ON upstream_overrides (upstream, model, id DESC);
CREATE TRIGGER upstream_overrides_are_kept BEFORE UPDATE OR DELETE ON upstream_overrides FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER upstream_overrides_not_truncated BEFORE TRUNCATE ON upstream_overrides FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE model_overrides (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model text NOT NULL CHECK (model <> ''),
  kind text NOT NULL CHECK (kind IN ('disable', 'enable')),
  author text NOT NULL CHECK (author <> ''),
  reason text NOT NULL CHECK (reason <> ''),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX model_overrides_by_model ON model_overrides (model, id DESC);
CREATE TRIGGER model_overrides_are_kept BEFORE UPDATE OR DELETE ON model_overrides FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER model_overrides_not_truncated BEFORE TRUNCATE ON model_overrides FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE configurations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  process text NOT NULL CHECK (process <> ''),
  -- SHA-256 over both files.
  digest text NOT NULL,
  -- Null if the catalogue could not be read.
  catalogue_version text,
  -- Null if the process uses the files.
  refusal text,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT configurations_have_a_version CHECK (catalogue_version IS NOT NULL OR refusal IS NOT NULL)
);
CREATE INDEX configurations_by_digest ON configurations (digest, id);
CREATE TRIGGER configurations_are_kept BEFORE UPDATE OR DELETE ON configurations FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER configurations_not_truncated BEFORE TRUNCATE ON configurations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE upstream_calls (
  span text NOT NULL CHECK (span IN ('minute', 'hour')),
  start timestamptz NOT NULL,
  upstream text NOT NULL,
  format text NOT NULL,
  model text NOT NULL,
  -- Its last four characters.
  key text NOT NULL,
  requests integer NOT NULL,
  failures integer NOT NULL,
  -- By the classes of duration in domain/upstream-calls.ts.
  durations integer[] NOT NULL,
  PRIMARY KEY (span, start, upstream, format, model, key)
);

CREATE TABLE upstream_call_failures (
  span text NOT NULL CHECK (span IN ('minute', 'hour')),
  start timestamptz NOT NULL,
  upstream text NOT NULL,
  format text NOT NULL,
  model text NOT NULL,
  fault text NOT NULL,
  -- Empty for accounts beyond the number that a process counts in one report.
  account_id text COLLATE "C" NOT NULL,
  failures integer NOT NULL,
  PRIMARY KEY (span, start, upstream, format, model, fault, account_id)
);

CREATE TABLE upstream_failures (
  upstream text NOT NULL,
  format text NOT NULL,
  model text NOT NULL,
  key text NOT NULL,
  failed_at timestamptz NOT NULL,
  fault text NOT NULL,
  status integer,
  -- The upstream's own words, without secrets.
  message text NOT NULL,
  PRIMARY KEY (upstream, format, model, key, fault)
);

CREATE TABLE text_attempts (
  account_id text COLLATE "C" NOT NULL,
  request_id text NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  ended_at timestamptz NOT NULL,
  upstream text NOT NULL,
  format text NOT NULL,
  model text NOT NULL,
  key text NOT NULL,
  decision text NOT NULL,
  fault text,
  status integer,
  message text NOT NULL,
  duration_ms integer NOT NULL,
  PRIMARY KEY (request_id, number)
);
CREATE INDEX text_attempts_by_account ON text_attempts (account_id, ended_at);
CREATE INDEX text_attempts_by_end ON text_attempts (ended_at);

CREATE TABLE process_circuits (
  process_id uuid PRIMARY KEY,
  reported_at timestamptz NOT NULL,
  circuits jsonb NOT NULL
);

CREATE TABLE poll_problems (
  upstream text NOT NULL,
  model text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('unknown_state', 'failed_polls')),
  words text NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (upstream, model, kind)
);

CREATE TABLE secret_marks (
  name text PRIMARY KEY CHECK (name IN ('encryption_key', 'key_pepper')),
  mark bytea NOT NULL
);

CREATE TABLE carried_balances (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  month date NOT NULL,
  signup_available numeric(38,0) NOT NULL,
  signup_reserved numeric(38,0) NOT NULL,
  funded_available numeric(38,0) NOT NULL,
  funded_reserved numeric(38,0) NOT NULL,
  PRIMARY KEY (account_id, month)
);
CREATE TABLE carried_usage (
  api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys,
  month date NOT NULL,
  used numeric(38,0) NOT NULL,
  reserved numeric(38,0) NOT NULL,
  PRIMARY KEY (api_key_id, month)
);
CREATE TRIGGER carried_balances_are_kept BEFORE UPDATE OR DELETE ON carried_balances FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER carried_balances_not_truncated BEFORE TRUNCATE ON carried_balances FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER carried_usage_is_kept BEFORE UPDATE OR DELETE ON carried_usage FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER carried_usage_not_truncated BEFORE TRUNCATE ON carried_usage FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE UNLOGGED TABLE refused_calls (
  api_key_id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  hour timestamptz NOT NULL,
  method text NOT NULL,
  path text NOT NULL CHECK (length(path) <= 300),
  status integer NOT NULL CHECK (status BETWEEN 400 AND 429 OR status = 503),
  code text NOT NULL,
  request_ids text[] NOT NULL CHECK (cardinality(request_ids) BETWEEN 1 AND 10),
  reasons text[] NOT NULL CONSTRAINT refused_calls_have_reasons CHECK (cardinality(reasons) = cardinality(request_ids)
    AND length(array_to_string(reasons, '')) <= 3000),
  calls bigint NOT NULL CHECK (calls > 0),
  refused_at timestamptz NOT NULL,
  PRIMARY KEY (api_key_id, hour, method, path, status, code)
);
CREATE INDEX refused_calls_by_account ON refused_calls (account_id, refused_at);
CREATE INDEX refused_calls_by_time ON refused_calls (refused_at);
CREATE INDEX refused_calls_by_request ON refused_calls USING gin (request_ids);

CREATE UNLOGGED TABLE live_overload (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  at timestamptz NOT NULL
);
