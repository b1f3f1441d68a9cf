import type { Knex } from 'knex';

/**
 * People who sign in to the console.
 *
 * - A user belongs to accounts as a member, and to the staff of the gateway by `staff_role`.
 * - Sessions and links are kept as digests: whoever reads the database cannot sign in with what it holds.
 * - A link is one of an invitation or of a new password, and works once.
 * - A row of `sent_forms` is a form that was sent, by the id that the page gave it. While `sealed_answer` is null, its outcome
 *   is unknown, and the form is not acted on again. The answer is encrypted, since it may show a secret.
 * - `sign_in_attempts` counts the attempts on a subject, such as a user or an address, from `started_at` on.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE users (
      id text PRIMARY KEY,
      email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
      name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
      password_hash text,
      staff_role text CHECK (staff_role IN ('operator', 'finance', 'readonly')),
      second_factor_secret bytea,
      second_factor_step bigint,
      language text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'zh')),
      disabled_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT users_email UNIQUE (email)
    );

    CREATE TABLE account_members (
      account_id text NOT NULL REFERENCES accounts (id),
      user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      role text NOT NULL CHECK (role IN ('owner', 'developer', 'finance')),
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (account_id, user_id)
    );
    CREATE INDEX account_members_of_user ON account_members (user_id);

    CREATE TABLE sessions (
      digest bytea PRIMARY KEY,
      user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      second_factor_pending boolean NOT NULL DEFAULT false,
      user_agent text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      last_used_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX sessions_of_user ON sessions (user_id);
    CREATE INDEX sessions_by_expiry ON sessions (expires_at);

    CREATE TABLE user_links (
      digest bytea PRIMARY KEY,
      user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      purpose text NOT NULL CHECK (purpose IN ('invitation', 'new_password')),
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      used_at timestamptz
    );
    CREATE INDEX user_links_by_expiry ON user_links (expires_at);

    CREATE TABLE sent_forms (
      form_id text COLLATE "C" PRIMARY KEY,
      request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
      sent_at timestamptz NOT NULL DEFAULT now(),
      user_id text REFERENCES users (id) ON DELETE CASCADE,
      sealed_answer bytea
    );
    CREATE INDEX sent_forms_by_age ON sent_forms (sent_at);
    CREATE INDEX sent_forms_of_user ON sent_forms (user_id);

    CREATE TABLE sign_in_attempts (
      subject text PRIMARY KEY,
      attempts integer NOT NULL,
      started_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX sign_in_attempts_by_age ON sign_in_attempts (started_at);
  `);
}
