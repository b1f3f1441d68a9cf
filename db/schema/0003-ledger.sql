-- The ledger: append-only transfers, one row for both legs, so that the ledger balances by construction.
--
-- - A reservation is pending until one row names it in `pending_id`: a settlement (the hold becomes a charge) or a
--   refund (the hold is released). `UNIQUE (pending_id, opened_at)` allows one such row.
-- - Text holds money by allowances: an `allowance` reserves money, a `charge` for each request takes reserved money,
--   and a `release` returns the rest. `allowance_id` names the allowance of all three.
-- - `opened_at` is when the chain started: a resolution carries the `opened_at` of its reservation, so that a chain
--   stays in one monthly partition and the uniqueness holds over all partitions. A trigger refuses a resolution that
--   differs from its reservation in anything but its kind.
-- - `signup_amount` is the part of `amount` that is signup credit; the rest is funded credit.
-- - Times have milliseconds, as in JavaScript, so that a time that was read finds its row again.
-- - A `merge_out` takes money from one account, and a `merge_in` of the same transaction gives the money to another.
--   `reference` of both is the other account.
-- - A top-up and its reference are written together or not at all. A payment that a payment provider announces is a
--   top-up with the reference `payment:` and the payment's id. It credits one account once, however many events report
--   the payment.
-- - A statement-level trigger moves the balances of accounts and keys, grouped by account: every transfer moves its
--   balance, and a batch of thousands moves each balance once. The trigger refuses a key of another account, and takes
--   what the account owes for returned payments from its funded credit (`functions/collect-debts.sql`).
--
-- Promo credit is like signup credit, but expires.
--
-- - A grant is an amount with an expiry. The rest of a grant is a part of its account's signup balances, so holds and
--   settlements need no rules for promo credit.
-- - Transfers that take signup credit take promo credit first, from the grant that expires first. The trigger that
--   moves the balances records which grants each reservation and allowance took from (`promo_holds`). Charges spend
--   these amounts in the same order, and released amounts return to their grants.
-- - Expired grants cannot be spent: statements that take signup credit subtract `expired_promo`. The time is that of
--   the transaction, so that all statements of a transaction agree.
-- - Some seconds after the expiry, a transfer `promo_expiry` takes the available rest. Money that holds release later
--   expires by another such transfer. `reference` of both kinds of transfer is the grant.
-- - A grant that its payment gave ends when the payment goes back: its expiry moves to that time, and never later.

CREATE TABLE transfers (
  id text COLLATE "C" NOT NULL CHECK (length(id) = 35 AND id ~ '^tr_[0-9a-z]+$'),
  opened_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  kind text NOT NULL,
  debit text NOT NULL,
  credit text NOT NULL,
  amount pico_usd NOT NULL CHECK (amount > 0),
  signup_amount pico_usd NOT NULL DEFAULT 0,
  pending_id text COLLATE "C",
  account_id text COLLATE "C" NOT NULL,
  api_key_id text COLLATE "C",
  task_id text COLLATE "C",
  text_request_id text COLLATE "C",
  allowance_id text COLLATE "C",
  reference text,
  author text,
  reason text,
  PRIMARY KEY (id, opened_at),
  CONSTRAINT transfers_signup_is_a_part CHECK (signup_amount <= amount),
  -- The same rules as in domain/ledger.ts, for statements that do not use it.
  -- Arrays: PostgreSQL parses the stored checks for each statement, and those of lists are far longer.
  CONSTRAINT transfers_books CHECK (kind || ' ' || debit || ' ' || credit = ANY ('{
    topup payments available,
    signup_grant signup_credit available,
    promo_grant promo_credit available,
    promo_expiry available promo_credit,
    gift gift_credit available,
    merge_out available merges,
    merge_in merges available,
    reservation available reserved,
    settlement reserved revenue,
    refund reserved available,
    allowance available reserved,
    charge reserved revenue,
    release reserved available,
    excess available revenue,
    absorbed_loss absorbed_loss revenue,
    adjustment adjustments available,
    adjustment available adjustments}'::text[])),
  CONSTRAINT transfers_resolution_names_reservation
    CHECK ((kind = ANY ('{settlement,refund}'::text[])) = (pending_id IS NOT NULL)),
  CONSTRAINT transfers_chain_opens_with_first_row CHECK (pending_id IS NOT NULL OR opened_at = created_at),
  CONSTRAINT transfers_name_their_task CHECK ((kind = ANY ('{reservation,settlement,refund}'::text[])) = (task_id IS NOT NULL)),
  CONSTRAINT transfers_name_their_text_request
    CHECK ((kind = ANY ('{charge,excess,absorbed_loss}'::text[])) = (text_request_id IS NOT NULL)),
  CONSTRAINT transfers_name_their_allowance
    CHECK ((kind = ANY ('{allowance,charge,release}'::text[])) = (allowance_id IS NOT NULL)),
  CONSTRAINT transfers_credit_of_one_kind
    CHECK (kind <> ALL ('{topup,gift,signup_grant,promo_grant,promo_expiry}'::text[])
      OR signup_amount = CASE WHEN kind IN ('topup', 'gift') THEN 0 ELSE amount END),
  CONSTRAINT transfers_name_their_grant_or_other_account
    CHECK (kind NOT IN ('promo_grant', 'promo_expiry', 'merge_out', 'merge_in') OR reference IS NOT NULL),
  CONSTRAINT transfers_adjustments_are_signed
    CHECK (kind <> 'adjustment' OR (author IS NOT NULL AND reason IS NOT NULL))
) PARTITION BY RANGE (opened_at);
CREATE UNIQUE INDEX transfers_resolve_once ON transfers (pending_id, opened_at) WHERE pending_id IS NOT NULL;
CREATE INDEX transfers_by_account ON transfers (account_id, created_at, id);
-- Entries of one kind among many charges of text.
CREATE INDEX transfers_entries ON transfers (account_id, kind, created_at, id)
  WHERE kind IN ('topup', 'signup_grant', 'promo_grant', 'promo_expiry', 'gift', 'merge_out', 'merge_in', 'adjustment',
    'settlement', 'refund');
CREATE INDEX transfers_absorbed ON transfers (created_at) WHERE kind = 'absorbed_loss';
CREATE UNIQUE INDEX transfers_once_per_task ON transfers (task_id, opened_at, kind) WHERE task_id IS NOT NULL;
CREATE INDEX transfers_of_text ON transfers (text_request_id) WHERE text_request_id IS NOT NULL;
CREATE INDEX transfers_unsettled ON transfers (created_at) WHERE kind = 'release' AND reason IS NOT NULL;
CREATE INDEX transfers_refunds ON transfers (id) WHERE kind = 'refund';
CREATE INDEX transfers_adjustments ON transfers (id) WHERE kind = 'adjustment';
-- Finds the transfers of an hour. Rows are written in the order of time, so a BRIN index suffices, which costs writers
-- nothing.
CREATE INDEX transfers_by_time ON transfers USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX transfers_refunds_by_time ON transfers (created_at)
  INCLUDE (account_id, amount, task_id, opened_at) WHERE kind = 'refund';

CREATE TABLE top_ups (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 255),
  amount pico_usd NOT NULL CHECK (amount > 0),
  transfer_id text COLLATE "C" NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (account_id, reference)
);
CREATE INDEX top_ups_by_parts ON top_ups USING gin (reference gin_trgm_ops);
CREATE UNIQUE INDEX top_ups_one_per_payment ON top_ups (reference) WHERE reference LIKE 'payment:%';

-- Payments that were announced with another account or amount than they were credited with.
CREATE TABLE contradicted_payments (
  reference text NOT NULL,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  amount pico_usd NOT NULL CHECK (amount > 0),
  announced_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (reference, account_id, amount)
);

-- Announcements of the payment provider that Genway refused, by their payment, invoice, subscription or event, such as a
-- payment for an account that does not exist. A row goes when a repetition of the announcement takes effect.
CREATE TABLE refused_payments (
  subject text PRIMARY KEY,
  reason text NOT NULL,
  refused_at timestamptz(3) NOT NULL
);

-- Payments that went back to their payers, by refunds or disputes, perhaps before they were credited: what their
-- accounts must give for it, and have given. Until a payment is credited, it has no account, and nothing is due. Nothing is
-- due of a plan's payment, which gave promo credit alone. `refunded` is the total that the payment provider reported last, at
-- `refunded_at` (Unix seconds), without the refunds that had failed before; `failed_refunds` has the amount of each failed refund
-- and when it failed.
CREATE TABLE returned_payments (
  reference text PRIMARY KEY CHECK (reference LIKE 'payment:%'),
  account_id text COLLATE "C" REFERENCES accounts,
  refunded pico_usd NOT NULL DEFAULT 0,
  refunded_at bigint NOT NULL DEFAULT 0,
  failed_refunds jsonb NOT NULL DEFAULT '{}',
  disputes jsonb NOT NULL DEFAULT '{}',
  due pico_usd NOT NULL DEFAULT 0,
  taken pico_usd NOT NULL DEFAULT 0,
  CONSTRAINT returned_payments_are_due_once_credited CHECK (account_id IS NOT NULL OR due = 0),
  CONSTRAINT returned_payments_take_what_is_due CHECK (taken <= due)
);
CREATE INDEX returned_payments_owed ON returned_payments (account_id, reference) WHERE taken < due;
CREATE TRIGGER returned_payments_are_kept BEFORE DELETE ON returned_payments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER returned_payments_not_truncated BEFORE TRUNCATE ON returned_payments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Transfers that took the money of returned payments, and have no credit note yet.
CREATE TABLE due_credit_notes (
  transfer_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  reference text NOT NULL,
  amount pico_usd NOT NULL CHECK (amount > 0)
);

-- Accounts that pay an amount by a saved card when their balance falls below a threshold. An attempt has its id before the
-- payment provider is asked, so that asking again makes no other payment.
CREATE TABLE auto_top_ups (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  threshold pico_usd NOT NULL CHECK (threshold > 0),
  amount pico_usd NOT NULL CHECK (amount > 0),
  customer text NOT NULL,
  payment_method text NOT NULL,
  stopped_because text,
  attempt_id text,
  attempt_began_at timestamptz,
  attempted_at timestamptz,
  paid_on date,
  paid_count integer NOT NULL DEFAULT 0,
  CONSTRAINT auto_top_ups_attempt CHECK (attempt_id IS NULL OR attempt_began_at IS NOT NULL)
);

-- The pages on which cards were given: each is agreed on once. A browser opens the address after such a page again, on a
-- reload or from its history.
CREATE TABLE agreed_checkouts (
  checkout_id text COLLATE "C" PRIMARY KEY
);

-- Not a foreign key, because a top-up stays when the month of its transfer is detached.
CREATE FUNCTION check_top_up_transfer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM transfers WHERE id = NEW.transfer_id AND opened_at = NEW.created_at;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the top-up % has no transfer', NEW.reference
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER top_ups_are_transferred AFTER INSERT ON top_ups
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_top_up_transfer();

CREATE FUNCTION check_top_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM top_ups WHERE transfer_id = NEW.id AND account_id = NEW.account_id
    AND reference = NEW.reference AND amount = NEW.amount;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'top-up % has no reference of its own', NEW.id
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER transfers_top_ups_have_a_reference AFTER INSERT ON transfers
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'topup') EXECUTE FUNCTION check_top_up();

CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE ON transfers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER transfers_not_truncated BEFORE TRUNCATE ON transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER top_ups_append_only BEFORE UPDATE OR DELETE ON top_ups FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER top_ups_not_truncated BEFORE TRUNCATE ON top_ups FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE promo_grants (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^prm_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 255),
  amount pico_usd NOT NULL CHECK (amount > 0),
  available pico_usd NOT NULL DEFAULT 0,
  reserved pico_usd NOT NULL DEFAULT 0,
  spent pico_usd NOT NULL DEFAULT 0,
  expired pico_usd NOT NULL DEFAULT 0,
  is_open boolean GENERATED ALWAYS AS (available + reserved > 0) STORED,
  expires_at timestamptz(3) NOT NULL,
  author text NOT NULL CHECK (author <> ''),
  reason text NOT NULL CHECK (reason <> ''),
  -- Whether the account paid for it, as for the credit of a plan, or got it from a topped-up account by a merge: the account
  -- then counts as topped up.
  is_paid boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT promo_grants_once_per_reference UNIQUE (account_id, reference),
  CONSTRAINT promo_grants_add_up CHECK (available + reserved + spent + expired IN (0, amount)),
  CONSTRAINT promo_grants_last CHECK (expires_at > created_at)
);
CREATE INDEX promo_grants_open ON promo_grants (account_id, expires_at, id) WHERE is_open;
CREATE INDEX promo_grants_due ON promo_grants (expires_at) WHERE is_open;
CREATE TRIGGER promo_grants_keep_identity BEFORE UPDATE ON promo_grants FOR EACH ROW
  WHEN (NEW.expires_at > OLD.expires_at
    OR (OLD.id, OLD.account_id, OLD.reference, OLD.amount, OLD.author, OLD.reason, OLD.is_paid, OLD.created_at)
      IS DISTINCT FROM
        (NEW.id, NEW.account_id, NEW.reference, NEW.amount, NEW.author, NEW.reason, NEW.is_paid, NEW.created_at))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER promo_grants_balances BEFORE UPDATE ON promo_grants FOR EACH ROW
  WHEN ((OLD.available, OLD.reserved, OLD.spent, OLD.expired)
    IS DISTINCT FROM (NEW.available, NEW.reserved, NEW.spent, NEW.expired))
  EXECUTE FUNCTION only_the_ledger_moves_money();
CREATE TRIGGER promo_grants_start_empty BEFORE INSERT ON promo_grants FOR EACH ROW
  WHEN (NEW.available + NEW.reserved + NEW.spent + NEW.expired <> 0)
  EXECUTE FUNCTION only_the_ledger_moves_money();
CREATE TRIGGER promo_grants_are_kept BEFORE DELETE ON promo_grants FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER promo_grants_not_truncated BEFORE TRUNCATE ON promo_grants FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The amounts that open reservations and allowances hold from each grant.
CREATE TABLE promo_holds (
  hold_id text COLLATE "C" NOT NULL,
  grant_id text COLLATE "C" NOT NULL REFERENCES promo_grants,
  amount pico_usd NOT NULL CHECK (amount > 0),
  PRIMARY KEY (hold_id, grant_id)
);
