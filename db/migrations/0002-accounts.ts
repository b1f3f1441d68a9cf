import type { Knex } from 'knex';

/**
 * Accounts with their materialised balances, and API keys. All money is in pico-USD. The balance columns are moved by the
 * ledger's trigger and by nothing else; the CHECKs make an overdraft impossible whatever the code does.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE accounts (
      id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^acc_[0-9a-z]{32}$'),
      name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
      signup_available numeric(38,0) NOT NULL DEFAULT 0 CHECK (signup_available >= 0),
      signup_reserved numeric(38,0) NOT NULL DEFAULT 0 CHECK (signup_reserved >= 0),
      funded_available numeric(38,0) NOT NULL DEFAULT 0 CHECK (funded_available >= 0),
      funded_reserved numeric(38,0) NOT NULL DEFAULT 0 CHECK (funded_reserved >= 0),
      topped_up_at timestamptz,
      max_concurrent_tasks integer CHECK (max_concurrent_tasks > 0),
      created_at timestamptz NOT NULL DEFAULT now()
    );

    CREATE TABLE api_keys (
      id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^key_[0-9a-z]{32}$'),
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      name text NOT NULL DEFAULT '' CHECK (length(name) <= 200),
      digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
      hint text NOT NULL,
      usage_limit numeric(38,0) CHECK (usage_limit >= 0),
      used numeric(38,0) NOT NULL DEFAULT 0 CHECK (used >= 0),
      models text[],
      ip_allowlist text[],
      rate_limit_rpm integer CHECK (rate_limit_rpm > 0),
      expires_at timestamptz,
      disabled_at timestamptz,
      deleted_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX api_keys_by_account ON api_keys (account_id, id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE api_keys; DROP TABLE accounts');
}
