import type { Knex } from 'knex';

/**
 * The admin tokens of people and programs, of which only digests are stored, and what was done with them. The token in the
 * environment is not among them. One name may have several tokens, so that a new one is in use before the old one is revoked.
 * An action is written down before it is carried out; rows of actions are only ever added.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
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
      request_id text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX admin_actions_by_author ON admin_actions (author, id);
    CREATE TRIGGER admin_actions_are_kept BEFORE UPDATE OR DELETE ON admin_actions
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER admin_actions_not_truncated BEFORE TRUNCATE ON admin_actions
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
