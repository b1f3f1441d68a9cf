import type { Knex } from 'knex';

/**
 * Idempotency keys of create calls (contract 4.1). A row is a claim while `completed_at` is null: it belongs to
 * the holder of `claim_token` until `lease_until`, after which another request may take it over. Completed rows hold the
 * first response, encrypted, and are valid until `expires_at`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE idempotency_keys (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
      request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
      claim_token uuid NOT NULL,
      lease_until timestamptz NOT NULL,
      completed_at timestamptz,
      expires_at timestamptz,
      status integer CHECK (status BETWEEN 200 AND 299),
      sealed_body bytea,
      PRIMARY KEY (account_id, key),
      CONSTRAINT idempotency_complete_or_not CHECK (
        num_nulls(completed_at, expires_at, status, sealed_body) IN (0, 4))
    );
    CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (coalesce(expires_at, lease_until));
  `);
}
