-- People who sign in to the console, and their links and e-mails.
--
-- - A user belongs to accounts as a member, and to the staff of the gateway by `staff_role`.
-- - Sessions, links and recovery codes are stored as digests, so that nobody can sign in with the data in the database.
--   A link is for an invitation or a new password, and works once, like a recovery code.
-- - A row of `sent_forms` is a submitted form, by the id that the page gave it. While `encrypted_answer` is null, its
--   outcome is unknown, and the form is not processed again. The answer is encrypted, since it may show a secret.
-- - `sign_in_attempts` counts the attempts on a subject, such as a user or an address, from `started_at` on.
-- - Owners invite people to their accounts. An invitation ends with the membership of the owner who made it. People
--   belong to an account only after they accept: a stranger who registered the invited address first does not have the
--   invitation's link, and so gains nothing.
-- - `mail` of an invitation is the status of its e-mail; null if the owner passes the link on. The token is made when
--   the e-mail is sent, so that only the reader of the mailbox gets it. An order for an e-mail ends with its
--   invitation.
-- - A link for a new password that an owner made names their account, and ends with their membership. The link works
--   only while its user belongs to that account and to no other, so that no owner can access another account with it.
-- - `link_mails` is the outbox of orders to send a link to an address. The link is made when it is sent, so that no
--   link is stored. An order is the same whether or not a user has the address, so that a request for a link reveals
--   nothing.
-- - `user_identities` maps the identities of OpenID Connect to users. A pair of issuer and subject never changes its
--   user, unlike an e-mail address.

CREATE TABLE users (
  id text PRIMARY KEY,
  email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  password_hash text,
  staff_role text CHECK (staff_role IN ('operator', 'finance', 'readonly')),
  second_factor_secret bytea,
  second_factor_step bigint,
  language text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'zh')),
  -- Lists of the console with filters, under names.
  saved_views jsonb NOT NULL DEFAULT '[]',
  disabled_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT users_email UNIQUE (email)
);

CREATE INDEX users_by_parts ON users USING gin (email gin_trgm_ops, name gin_trgm_ops);

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
  expires_at timestamptz NOT NULL,
  by_provider boolean NOT NULL DEFAULT false
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE user_links (
  digest bytea PRIMARY KEY,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('invitation', 'new_password')),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  account_id text COLLATE "C",
  made_by text,
  CONSTRAINT user_links_are_made_in_an_account CHECK ((account_id IS NULL) = (made_by IS NULL)),
  CONSTRAINT user_links_end_with_their_maker
    FOREIGN KEY (account_id, made_by) REFERENCES account_members (account_id, user_id) ON DELETE CASCADE
);
CREATE INDEX user_links_by_expiry ON user_links (expires_at);
CREATE INDEX user_links_by_maker ON user_links (account_id, made_by) WHERE account_id IS NOT NULL;

CREATE TABLE sent_forms (
  form_id text COLLATE "C" PRIMARY KEY,
  request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
  sent_at timestamptz NOT NULL DEFAULT now(),
  user_id text REFERENCES users (id) ON DELETE CASCADE,
  encrypted_answer bytea,
  -- The account whose content the answer shows; null for no content.
  content_of text COLLATE "C"
);
CREATE INDEX sent_forms_by_age ON sent_forms (sent_at);
CREATE INDEX sent_forms_with_content ON sent_forms (content_of) WHERE content_of IS NOT NULL;
CREATE INDEX sent_forms_of_user ON sent_forms (user_id);

CREATE TABLE sign_in_attempts (
  subject text PRIMARY KEY,
  attempts integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_attempts_by_age ON sign_in_attempts (started_at);

CREATE TABLE account_invitations (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  email text NOT NULL CHECK (email = lower(email)),
  role text NOT NULL CHECK (role IN ('owner', 'developer', 'finance')),
  digest bytea NOT NULL,
  invited_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  mail text CHECK (mail IN ('ordered', 'sent', 'failed')),
  mail_attempts integer NOT NULL DEFAULT 0,
  mail_due_at timestamptz,
  PRIMARY KEY (account_id, email),
  CONSTRAINT account_invitations_digest UNIQUE (digest),
  FOREIGN KEY (account_id, invited_by) REFERENCES account_members (account_id, user_id) ON DELETE CASCADE,
  CONSTRAINT account_invitations_are_due_if_ordered
    CHECK (coalesce(mail = 'ordered', false) = (mail_due_at IS NOT NULL))
);
CREATE INDEX account_invitations_by_inviter ON account_invitations (account_id, invited_by);
CREATE INDEX account_invitations_by_expiry ON account_invitations (expires_at);
CREATE INDEX account_invitations_due ON account_invitations (mail_due_at) WHERE mail_due_at IS NOT NULL;

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

CREATE TABLE recovery_codes (
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  digest bytea NOT NULL,
  PRIMARY KEY (user_id, digest)
);
