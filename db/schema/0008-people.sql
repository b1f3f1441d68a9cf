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
-- - If an invitation is sent by e-mail, its token is made when the e-mail is sent, so that only the reader of the
--   mailbox gets it.
-- - A link for a new password that an owner made names their account, and ends with their membership. The link works
--   only while its user belongs to that account and to no other, so that no owner can access another account with it.
-- - `mails` is the outbox: the orders of all e-mails, with their outcomes. An order is written in the transaction of its
--   cause, so both are committed or neither. A reference, such as `balance_low:evt_…`, is ordered once for ever. Of the
--   orders without a reference, one for each kind and address waits at a time.
-- - Links are made when the e-mail is sent, so that no link is stored. An order for a link is the same whether or not a
--   user has the address, so that a request for a link reveals nothing.
-- - A row of `address_changes` is a change of a user's address, which both mailboxes confirm by a link each. A link is
--   made when its e-mail is sent.
-- - A row of `registrations` is an attempt of a stranger to get an account. No user exists until the address is
--   verified, so nothing works before. The link is made when its e-mail is sent, which is sent or not, depending on
--   whether a user has the address, after the stranger has the answer. A closed registration keeps no secret. One
--   with an account keeps only the digest of the address, so that a closed account leaves no address behind.
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
  -- The kinds of e-mails that the user switched off.
  unwanted_mails text[] NOT NULL DEFAULT '{}',
  -- Digests of the devices and networks of sign-ins, the oldest first.
  known_devices bytea[] NOT NULL DEFAULT '{}',
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
  -- The provider with which the user signed in; null for a password.
  issuer text
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
  PRIMARY KEY (account_id, email),
  CONSTRAINT account_invitations_digest UNIQUE (digest),
  FOREIGN KEY (account_id, invited_by) REFERENCES account_members (account_id, user_id) ON DELETE CASCADE
);
CREATE INDEX account_invitations_by_inviter ON account_invitations (account_id, invited_by);
CREATE INDEX account_invitations_by_expiry ON account_invitations (expires_at);

CREATE TABLE mails (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 37 AND id ~ '^mail_[0-9a-z]+$'),
  kind text NOT NULL,
  address text NOT NULL CHECK (address = lower(address) AND length(address) BETWEEN 3 AND 254),
  user_id text REFERENCES users (id) ON DELETE CASCADE,
  account_id text COLLATE "C" REFERENCES accounts (id),
  reference text,
  -- Texts for the e-mail, such as the name of a key; never a link or a secret.
  facts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(facts) = 'object'),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  -- `skipped`: at the time of sending, there was nothing to send or nobody who wanted it.
  outcome text NOT NULL DEFAULT 'waiting' CHECK (outcome IN ('waiting', 'sent', 'refused', 'given_up', 'skipped')),
  -- The last answer of a mail server that did not accept the e-mail.
  failure text CHECK (length(failure) <= 500),
  sent_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT mails_reference UNIQUE (reference),
  CONSTRAINT mails_sent_at_a_time CHECK ((outcome = 'sent') = (sent_at IS NOT NULL))
);
CREATE UNIQUE INDEX mails_waiting_once ON mails (kind, address)
  WHERE reference IS NULL AND outcome = 'waiting';
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE outcome = 'waiting';
CREATE INDEX mails_by_address ON mails (address, created_at);
CREATE INDEX mails_of_user ON mails (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX mails_of_account ON mails (account_id, address) WHERE account_id IS NOT NULL;
CREATE INDEX mails_by_age ON mails (created_at);

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

CREATE TABLE registrations (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^reg_[0-9a-z]+$'),
  created_at timestamptz NOT NULL DEFAULT now(),
  email text CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  -- Of the address without the parts that its owner can vary.
  normal_address_digest bytea NOT NULL CHECK (length(normal_address_digest) = 32),
  -- The /24 or /64 of the client.
  network text NOT NULL,
  -- `password`, or the name of the provider.
  source text NOT NULL,
  state text NOT NULL
    CHECK (state IN ('waiting_for_verification', 'waiting_for_approval', 'done', 'refused', 'expired')),
  -- Why the registration is refused, or waits for approval.
  reason text,
  terms_version text,
  terms_accepted_at timestamptz,
  name text NOT NULL DEFAULT '',
  language text NOT NULL,
  password_hash text,
  issuer text,
  subject text,
  link_digest bytea,
  expires_at timestamptz NOT NULL,
  closed_at timestamptz,
  account_id text COLLATE "C" REFERENCES accounts (id),
  user_id text REFERENCES users (id) ON DELETE SET NULL,
  CONSTRAINT registrations_link UNIQUE (link_digest),
  CONSTRAINT registrations_are_closed_once CHECK ((closed_at IS NULL) = (state LIKE 'waiting%')),
  CONSTRAINT registrations_keep_secrets_while_open
    CHECK (closed_at IS NULL OR num_nonnulls(password_hash, issuer, subject, link_digest) = 0),
  CONSTRAINT registrations_get_an_account CHECK ((state = 'done') = (account_id IS NOT NULL AND email IS NULL))
);
CREATE INDEX registrations_of_account ON registrations (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX registrations_of_user ON registrations (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX registrations_by_expiry ON registrations (expires_at) WHERE state = 'waiting_for_verification';
CREATE INDEX registrations_by_age ON registrations (created_at) WHERE state <> 'done';

CREATE TABLE address_changes (
  user_id text PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 254),
  old_digest bytea,
  new_digest bytea,
  old_confirmed_at timestamptz,
  new_confirmed_at timestamptz,
  expires_at timestamptz NOT NULL,
  CONSTRAINT address_changes_old_link UNIQUE (old_digest),
  CONSTRAINT address_changes_new_link UNIQUE (new_digest)
);
CREATE INDEX address_changes_by_expiry ON address_changes (expires_at);
