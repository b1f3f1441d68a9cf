-- Accounts with their balances, price lists of customers, API keys, budgets, and the requests per minute
-- of each key.
--
-- - A price list changes by a new version, and versions never change: tasks and text requests name the version that
--   priced them. The latest version whose `valid_from` has passed applies. A version is announced before it is valid,
--   so that every process knows it in time, and no version is valid before it was written.
-- - PostgreSQL reads the stored checks of a table, and the conditions of its triggers, anew for each statement. Triggers on
--   accounts and keys therefore name columns where they can, because every settlement updates both.
-- - Only a trigger on `transfers` moves the balances. No `pico_usd` is negative, so no account can be overdrawn,
--   whatever the code does. `used` of a key is the sum of its charges and of `reserved`.
-- - `debt` is what the account owes for payments that returned to their payers (`functions/collect-debts.sql`).
-- - The limit of a key is for all time, or renews each `limit_period` of UTC. If it renews, `used` minus `used_before`,
--   the use until `period_since`, counts towards the limit (`functions/key-periods.sql`).
-- - A budget bounds the holds and charges of tasks and text requests: all of an account, those to some models, or those
--   that name an end user (`functions/budgets.sql`). `accounts.budgets_version` changes with the budgets of an account,
--   so that each text process knows when to read them again.
-- - `last_used_at` of a key is when money was last held for it. The update of `used` sets it.
-- - Rows are never deleted, because transfers name them. A deleted key stays deleted.
-- - The low fillfactors leave room for a new version of a row beside the old one, so that an update changes no index.
-- - `has_promo` is whether a grant of promo credit is open, so that other accounts skip the work for promo credit.
-- - A suspended account spends nothing from that moment on, in any process: creating tasks and holding for text check
--   `suspended_at` under the lock of the account. Tasks and requests in progress continue.
-- - Owners close their accounts for ever. A closed account stays suspended, all its content is to be erased at any time,
--   and its promo credit lapses. Its money stays until finance repays it.
-- - An account that is merged into another stays suspended for ever: see `account_merges` in `0009-finance.sql`.
-- - Genway warns an account with a threshold `low_balance` when its balance is low. The balance is the available plus
--   the held money: only charges lower it and only credits raise it. `low_balance_since` is when the low balance was
--   announced. A credit that lifts the balance to the threshold, or a new threshold, sets it to null.
-- - The inputs and results of tasks are erased `content_days` after the tasks were created, if the account sets this
--   lifetime. All content from before `erase_before` is erased.
-- - `request_windows` is unlogged: after a crash of the database, the counts of the current minute start again.

CREATE TABLE price_lists (
  name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER price_lists_are_kept BEFORE UPDATE OR DELETE ON price_lists FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER price_lists_not_truncated BEFORE TRUNCATE ON price_lists FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE price_list_versions (
  id text COLLATE "C" PRIMARY KEY,
  list text COLLATE "C" NOT NULL REFERENCES price_lists,
  version integer NOT NULL CHECK (version > 0),
  factor text NOT NULL CHECK (factor ~ '^[0-9]{1,3}(|[.][0-9]{1,6})$' AND factor::numeric > 0),
  -- Of requests of batches; null for the factor of the catalogue.
  batch_factor text CHECK (batch_factor ~ '^[0-9]{1,3}(|[.][0-9]{1,6})$' AND batch_factor::numeric > 0),
  rules jsonb NOT NULL CHECK (jsonb_typeof(rules) = 'array'),
  valid_from timestamptz(3) NOT NULL,
  author text NOT NULL CHECK (length(author) BETWEEN 1 AND 200),
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 1000),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT price_list_versions_are_called_by_it CHECK (id = list || '@' || version),
  CONSTRAINT price_list_versions_are_announced CHECK (valid_from >= created_at + interval '5 seconds')
);
CREATE INDEX price_list_versions_by_list ON price_list_versions (list, version);
CREATE TRIGGER price_list_versions_are_kept BEFORE UPDATE OR DELETE ON price_list_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER price_list_versions_not_truncated BEFORE TRUNCATE ON price_list_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION check_price_list_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF abs(extract(epoch FROM NEW.created_at - clock_timestamp())) > 1
    OR EXISTS (SELECT FROM price_list_versions WHERE list = NEW.list AND version >= NEW.version) THEN
    RAISE EXCEPTION 'version % of % does not follow the versions that are there', NEW.version, NEW.list
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER price_list_versions_follow_each_other BEFORE INSERT ON price_list_versions
  FOR EACH ROW EXECUTE FUNCTION check_price_list_version();

CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^acc_[0-9a-z]+$'),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  signup_available pico_usd NOT NULL DEFAULT 0,
  signup_reserved pico_usd NOT NULL DEFAULT 0,
  funded_available pico_usd NOT NULL DEFAULT 0,
  funded_reserved pico_usd NOT NULL DEFAULT 0,
  debt pico_usd NOT NULL DEFAULT 0,
  topped_up_at timestamptz,
  max_concurrent_tasks integer CHECK (max_concurrent_tasks > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  email text CHECK (length(email) BETWEEN 3 AND 320),
  external_id text CHECK (length(external_id) BETWEEN 1 AND 200),
  suspended_at timestamptz,
  closed_at timestamptz,
  merged_into text COLLATE "C" REFERENCES accounts,
  has_promo boolean NOT NULL DEFAULT false,
  price_list text COLLATE "C" REFERENCES price_lists,
  budgets_version integer NOT NULL DEFAULT 0,
  low_balance pico_usd CHECK (low_balance > 0),
  low_balance_since timestamptz,
  content_days integer CHECK (content_days > 0),
  -- How long responses of text models are stored; null for the default.
  response_minutes integer CHECK (response_minutes BETWEEN 0 AND 1440),
  erase_before timestamptz(3),
  billing_name text CHECK (length(billing_name) BETWEEN 1 AND 200),
  billing_address text CHECK (length(billing_address) BETWEEN 1 AND 500),
  tax_id text CHECK (length(tax_id) BETWEEN 1 AND 100),
  CONSTRAINT accounts_low_by_a_threshold CHECK (low_balance_since IS NULL OR low_balance IS NOT NULL),
  CONSTRAINT accounts_closed_are_suspended CHECK (closed_at IS NULL OR suspended_at IS NOT NULL)
) WITH (fillfactor = 25);
CREATE INDEX accounts_by_price_list ON accounts (price_list) WHERE price_list IS NOT NULL;
CREATE UNIQUE INDEX accounts_one_per_external_id ON accounts (external_id);
CREATE INDEX accounts_merged ON accounts (id) WHERE merged_into IS NOT NULL;
CREATE INDEX accounts_watching_their_balance ON accounts (id)
  WHERE low_balance IS NOT NULL AND low_balance_since IS NULL;

CREATE INDEX accounts_closed ON accounts (id) WHERE closed_at IS NOT NULL;

CREATE INDEX accounts_with_a_lifetime ON accounts (id) WHERE content_days IS NOT NULL OR erase_before IS NOT NULL;

-- Until when the content of an account is to be erased; null for none of it.
CREATE FUNCTION erase_content_before(owner accounts) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(owner.erase_before, now() - make_interval(days => owner.content_days),
    CASE WHEN owner.closed_at IS NOT NULL THEN now() END)
$$;

CREATE INDEX accounts_by_parts ON accounts
  USING gin (name gin_trgm_ops, email gin_trgm_ops, external_id gin_trgm_ops, id gin_trgm_ops);

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^key_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  name text NOT NULL DEFAULT '' CHECK (length(name) <= 200),
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  pepper_mark text NOT NULL DEFAULT '',
  hint text NOT NULL,
  usage_limit pico_usd,
  limit_period text CHECK (limit_period IN ('day', 'week', 'month')),
  used pico_usd NOT NULL DEFAULT 0,
  used_before pico_usd NOT NULL DEFAULT 0,
  period_since timestamptz,
  reserved pico_usd NOT NULL DEFAULT 0,
  models text[],
  ip_allowlist text[],
  rate_limit_rpm integer CHECK (rate_limit_rpm > 0),
  expires_at timestamptz,
  disabled_at timestamptz,
  deleted_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT api_keys_limit_renews CHECK ((limit_period IS NULL) = (period_since IS NULL))
) WITH (fillfactor = 25);
CREATE INDEX api_keys_by_account ON api_keys (account_id, id);
CREATE INDEX api_keys_by_hint ON api_keys (hint);
CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX api_keys_with_limit ON api_keys (id) WHERE usage_limit IS NOT NULL;
CREATE INDEX api_keys_by_parts ON api_keys USING gin (name gin_trgm_ops, id gin_trgm_ops);

CREATE TABLE budgets (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^(bud|eub)_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  end_user text COLLATE "C" CHECK (length(end_user) BETWEEN 1 AND 128),
  -- Ids of models, or their beginnings with a final `*`; null for all models.
  models text[] COLLATE "C" CHECK (cardinality(models) BETWEEN 1 AND 20 AND array_position(models, NULL) IS NULL),
  -- Set by the operator: the account's owner can neither change nor delete it.
  is_ceiling boolean NOT NULL DEFAULT false,
  usage_limit pico_usd NOT NULL,
  limit_period text NOT NULL CHECK (limit_period IN ('day', 'week', 'month')),
  used pico_usd NOT NULL DEFAULT 0,
  period_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT budgets_one_each UNIQUE (account_id, end_user),
  CONSTRAINT budgets_of_an_end_user_have_no_other_scope CHECK (end_user IS NULL OR (models IS NULL AND NOT is_ceiling)),
  CONSTRAINT budgets_ids_say_of_whom CHECK ((end_user IS NOT NULL) = starts_with(id, 'eub_'))
) WITH (fillfactor = 25);
CREATE INDEX budgets_by_account ON budgets (account_id, id);
CREATE UNIQUE INDEX budgets_one_each_of_an_account ON budgets (account_id, is_ceiling, limit_period, models)
  NULLS NOT DISTINCT WHERE end_user IS NULL;
CREATE TRIGGER budgets_keep_what_they_count BEFORE UPDATE OF id, account_id, end_user, models, is_ceiling, created_at
  ON budgets FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER accounts_keep_identity BEFORE UPDATE OF id, created_at ON accounts FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER accounts_stay_closed BEFORE UPDATE OF closed_at ON accounts FOR EACH ROW
  WHEN (OLD.closed_at IS NOT NULL AND OLD.closed_at IS DISTINCT FROM NEW.closed_at) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER accounts_stay_merged BEFORE UPDATE OF suspended_at, merged_into ON accounts FOR EACH ROW
  WHEN (OLD.merged_into IS DISTINCT FROM NEW.merged_into AND (OLD.merged_into IS NOT NULL OR NEW.merged_into = NEW.id)
    OR NEW.merged_into IS NOT NULL AND NEW.suspended_at IS NULL)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER accounts_are_kept BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER accounts_not_truncated BEFORE TRUNCATE ON accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER api_keys_keep_identity BEFORE UPDATE OF id, account_id, created_at, digest ON api_keys FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.created_at)
    OR (OLD.digest <> NEW.digest AND OLD.pepper_mark = NEW.pepper_mark)) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER api_keys_stay_deleted BEFORE UPDATE OF deleted_at ON api_keys FOR EACH ROW
  WHEN (OLD.deleted_at IS NOT NULL AND OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER api_keys_are_kept BEFORE DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER api_keys_not_truncated BEFORE TRUNCATE ON api_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION only_the_ledger_moves_money() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() < 2 THEN
    RAISE EXCEPTION 'the balances of % are moved by transfers only', TG_TABLE_NAME
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER accounts_balances
  BEFORE UPDATE OF signup_available, signup_reserved, funded_available, funded_reserved, debt, topped_up_at, has_promo ON accounts
  FOR EACH ROW EXECUTE FUNCTION only_the_ledger_moves_money();
CREATE TRIGGER accounts_start_empty BEFORE INSERT ON accounts FOR EACH ROW
  WHEN (NEW.topped_up_at IS NOT NULL
    OR NEW.signup_available + NEW.signup_reserved + NEW.funded_available + NEW.funded_reserved + NEW.debt <> 0)
  EXECUTE FUNCTION only_the_ledger_moves_money();
CREATE TRIGGER api_keys_usage BEFORE UPDATE OF used, reserved ON api_keys FOR EACH ROW
  EXECUTE FUNCTION only_the_ledger_moves_money();
CREATE TRIGGER api_keys_start_unused BEFORE INSERT ON api_keys FOR EACH ROW
  WHEN (NEW.used + NEW.reserved <> 0) EXECUTE FUNCTION only_the_ledger_moves_money();

CREATE FUNCTION start_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.limit_period IS NOT DISTINCT FROM NEW.limit_period THEN RETURN NEW; END IF;
  NEW.used_before := CASE WHEN NEW.limit_period IS NULL THEN 0 ELSE NEW.used - held_by_allowances(NEW) END;
  NEW.period_since := CASE WHEN NEW.limit_period IS NOT NULL THEN clock_timestamp() END;
  RETURN NEW;
END $$;
CREATE TRIGGER api_keys_start_a_period BEFORE INSERT OR UPDATE OF limit_period ON api_keys FOR EACH ROW
  EXECUTE FUNCTION start_period();

CREATE FUNCTION clear_low_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.low_balance IS DISTINCT FROM OLD.low_balance
    OR NEW.signup_available + NEW.signup_reserved + NEW.funded_available + NEW.funded_reserved >= NEW.low_balance THEN
    NEW.low_balance_since := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER accounts_low_no_more BEFORE UPDATE ON accounts FOR EACH ROW
  WHEN (OLD.low_balance_since IS NOT NULL) EXECUTE FUNCTION clear_low_balance();

CREATE UNLOGGED TABLE request_windows (
  api_key_id text COLLATE "C" NOT NULL,
  window_start timestamptz NOT NULL,
  reads boolean NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (api_key_id, window_start, reads)
) WITH (fillfactor = 50);
CREATE INDEX request_windows_by_age ON request_windows (window_start);
