import type { Knex } from 'knex';

/**
 * E-mail to people, sign-in by a provider of OpenID Connect, and recovery codes.
 *
 * - `link_mails` is the outbox: an order to send a link to an address. The link itself is made when it is sent, so that none
 *   is stored; and an order is the same whether or not somebody has the address, so that asking for one reveals nothing.
 * - `user_identities` says whom a provider means: the pair of issuer and subject never means somebody else later, as an
 *   e-mail address may.
 * - A recovery code is kept as a digest, and removed when it is used.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE link_mails (
      email text PRIMARY KEY,
      attempts integer NOT NULL DEFAULT 0,
      next_attempt_at timestamptz NOT NULL DEFAULT now(),
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX link_mails_due ON link_mails (next_attempt_at);

    CREATE TABLE user_identities (
      issuer text NOT NULL,
      subject text NOT NULL,
      user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (issuer, subject)
    );
    CREATE INDEX user_identities_of_user ON user_identities (user_id);

    ALTER TABLE sessions ADD COLUMN by_provider boolean NOT NULL DEFAULT false;

    CREATE TABLE recovery_codes (
      user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      digest bytea NOT NULL,
      PRIMARY KEY (user_id, digest)
    );
  `);
}
