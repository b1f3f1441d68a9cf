import type { Knex } from 'knex';

/**
 * Accounts with their materialised balances, and API keys. The balance columns are moved by the ledger's trigger and by
 * nothing else; that no `pico_usd` is negative makes an overdraft impossible whatever the code does. What a key has `used`
 * is what it was charged and what is `reserved`. Rows are never removed,
 * because the ledger speaks of them, and a deleted key stays deleted. The room that each page keeps free lets a new version of
 * a row stand beside the old one, which spares the indexes.
 *
 * Here and in all other tables the length of an id is checked apart from its letters: a counted repetition in a regular
 * expression costs several times as much, and every transfer is checked four times over.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE accounts (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^acc_[0-9a-z]+$'),
      name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
      signup_available pico_usd NOT NULL DEFAULT 0,
      signup_reserved pico_usd NOT NULL DEFAULT 0,
      funded_available pico_usd NOT NULL DEFAULT 0,
      funded_reserved pico_usd NOT NULL DEFAULT 0,
      topped_up_at timestamptz,
      max_concurrent_tasks integer CHECK (max_concurrent_tasks > 0),
      created_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 25);

    CREATE TABLE api_keys (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^key_[0-9a-z]+$'),
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      name text NOT NULL DEFAULT '' CHECK (length(name) <= 200),
      digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
      pepper_mark text NOT NULL DEFAULT '',
      hint text NOT NULL,
      usage_limit pico_usd,
      used pico_usd NOT NULL DEFAULT 0,
      reserved pico_usd NOT NULL DEFAULT 0,
      models text[],
      ip_allowlist text[],
      rate_limit_rpm integer CHECK (rate_limit_rpm > 0),
      expires_at timestamptz,
      disabled_at timestamptz,
      deleted_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 25);
    CREATE INDEX api_keys_by_account ON api_keys (account_id, id);

    CREATE TRIGGER accounts_keep_identity BEFORE UPDATE ON accounts FOR EACH ROW
      WHEN ((OLD.id, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.created_at)) EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER accounts_are_kept BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER accounts_not_truncated BEFORE TRUNCATE ON accounts
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER api_keys_keep_identity BEFORE UPDATE ON api_keys FOR EACH ROW
      WHEN ((OLD.id, OLD.account_id, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.created_at)
        OR (OLD.digest <> NEW.digest AND OLD.pepper_mark = NEW.pepper_mark)) EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER api_keys_stay_deleted BEFORE UPDATE ON api_keys FOR EACH ROW
      WHEN (OLD.deleted_at IS NOT NULL AND OLD.deleted_at IS DISTINCT FROM NEW.deleted_at)
      EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER api_keys_are_kept BEFORE DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER api_keys_not_truncated BEFORE TRUNCATE ON api_keys
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
