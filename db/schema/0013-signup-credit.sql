-- Signup credit of accounts that registered, and blocks of registrations.
--
-- - A row of `signup_credits` is the decision about one account, with its reason. Credit that awaits the first payment
--   counts as granted: the payment's transaction posts it. A mailbox gets credit once for ever, also if its account is
--   closed: the unique index, not a query, holds this for concurrent registrations. Rows keep the digest of the normal
--   address, so that no address stays behind.

CREATE TABLE signup_credits (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  normal_address_digest bytea NOT NULL CHECK (length(normal_address_digest) = 32),
  -- The /24 or /64 of the client.
  network text NOT NULL CHECK (length(network) BETWEEN 1 AND 50),
  outcome text NOT NULL CHECK (outcome IN ('granted', 'awaits_payment', 'disposable_address', 'address_used',
    'network_limit', 'daily_limit')),
  amount pico_usd NOT NULL CHECK (amount > 0),
  transfer_id text COLLATE "C" UNIQUE,
  decided_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT signup_credits_are_posted_if_granted CHECK ((outcome = 'granted') = (transfer_id IS NOT NULL))
);
CREATE UNIQUE INDEX signup_credits_once_per_mailbox ON signup_credits (normal_address_digest)
  WHERE outcome IN ('granted', 'awaits_payment');
CREATE INDEX signup_credits_by_day ON signup_credits (decided_at) INCLUDE (network)
  WHERE outcome IN ('granted', 'awaits_payment');
CREATE TRIGGER signup_credits_are_kept BEFORE DELETE ON signup_credits FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER signup_credits_are_decided_once BEFORE UPDATE ON signup_credits
  FOR EACH ROW WHEN (OLD.outcome <> 'awaits_payment' OR NEW.outcome <> 'granted' OR NEW.amount <> OLD.amount
    OR NEW.account_id <> OLD.account_id OR NEW.normal_address_digest <> OLD.normal_address_digest)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER signup_credits_not_truncated BEFORE TRUNCATE ON signup_credits
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A row keeps an address, a domain with its subdomains, or a network from registering, until an operator lifts the
-- block. Rows stay. `operator_actions` has who blocked and lifted, and why.
CREATE TABLE registration_blocks (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^blk_[0-9a-z]+$'),
  kind text NOT NULL CHECK (kind IN ('address', 'domain', 'network')),
  -- A normal address, a domain in lower case, or a network in CIDR notation.
  value text NOT NULL CHECK (length(value) BETWEEN 1 AND 254),
  created_at timestamptz NOT NULL DEFAULT now(),
  lifted_at timestamptz
);
CREATE UNIQUE INDEX registration_blocks_once ON registration_blocks (kind, value) WHERE lifted_at IS NULL;
CREATE TRIGGER registration_blocks_are_kept BEFORE DELETE ON registration_blocks
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER registration_blocks_are_lifted_once BEFORE UPDATE ON registration_blocks
  FOR EACH ROW WHEN (OLD.lifted_at IS NOT NULL OR NEW.lifted_at IS NULL OR NEW.value <> OLD.value OR NEW.kind <> OLD.kind)
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER registration_blocks_not_truncated BEFORE TRUNCATE ON registration_blocks
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
