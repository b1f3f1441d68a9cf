import type { Knex } from 'knex';

/**
 * Invitations to accounts, which owners make in the console.
 *
 * - An invitation ends with the membership of the owner who made it.
 * - Nobody belongs to an account before they accept: whoever signs in with an address that somebody else took first does not
 *   hold the invitation's link, and gets nothing by being invited.
 * - A link for a new password that an owner made names their account, and ends with their membership. It works only while its user belongs to that account
 *   and to no other: no owner can open another account with it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE account_invitations (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
      email text NOT NULL CHECK (email = lower(email)),
      role text NOT NULL CHECK (role IN ('owner', 'developer', 'finance')),
      digest bytea NOT NULL,
      invited_by text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      PRIMARY KEY (account_id, email),
      CONSTRAINT account_invitations_digest UNIQUE (digest),
      FOREIGN KEY (account_id, invited_by) REFERENCES account_members (account_id, user_id) ON DELETE CASCADE
    );
    CREATE INDEX account_invitations_by_inviter ON account_invitations (account_id, invited_by);
    CREATE INDEX account_invitations_by_expiry ON account_invitations (expires_at);

    ALTER TABLE user_links ADD COLUMN account_id text COLLATE "C", ADD COLUMN made_by text,
      ADD CONSTRAINT user_links_are_made_in_an_account CHECK ((account_id IS NULL) = (made_by IS NULL)),
      ADD CONSTRAINT user_links_end_with_their_maker
        FOREIGN KEY (account_id, made_by) REFERENCES account_members (account_id, user_id) ON DELETE CASCADE;
    CREATE INDEX user_links_by_maker ON user_links (account_id, made_by) WHERE account_id IS NOT NULL;
  `);
}
