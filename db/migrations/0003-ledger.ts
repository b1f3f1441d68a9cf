import type { Knex } from 'knex';

/**
 * The ledger: append-only transfers, one row for both legs, so that it balances by construction.
 *
 * - A reservation is pending until one row names it in `pending_id`: a settlement (the hold becomes a charge, and what was
 *   held above the charge is `released`) or a refund (all of it goes back). `UNIQUE (pending_id, opened_at)` makes it one.
 * - `opened_at` is the moment the chain began: a resolution carries that of its reservation, so that a chain stays in one
 *   monthly partition and the uniqueness holds over all of them. A trigger refuses a resolution that differs from its
 *   reservation in anything but its kind.
 * - `signup_amount` is the part of `amount` that is signup credit; the rest is funded credit.
 * - Times have milliseconds, as JavaScript's have, so that a time that was read finds the row it came from.
 * - A top-up and its reference are written together or not at all. Payments that a payment provider announces are top-ups
 *   whose reference is `payment:` and the payment's own id; such a payment credits one account once, whatever several events
 *   say of it.
 * - A statement-level trigger moves the balances of accounts and keys, grouped by account: nobody can write a transfer
 *   without moving the balance, and a batch of thousands moves each balance once. It refuses a key of another account.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE transfers (
      id text COLLATE "C" NOT NULL CHECK (length(id) = 35 AND id ~ '^tr_[0-9a-z]+$'),
      opened_at timestamptz(3) NOT NULL,
      created_at timestamptz(3) NOT NULL,
      kind text NOT NULL,
      debit text NOT NULL,
      credit text NOT NULL,
      amount pico_usd NOT NULL CHECK (amount > 0),
      signup_amount pico_usd NOT NULL DEFAULT 0,
      released pico_usd NOT NULL DEFAULT 0,
      released_signup pico_usd NOT NULL DEFAULT 0,
      pending_id text COLLATE "C",
      account_id text COLLATE "C" NOT NULL,
      api_key_id text COLLATE "C",
      task_id text COLLATE "C",
      text_request_id text COLLATE "C",
      reference text,
      author text,
      reason text,
      PRIMARY KEY (id, opened_at),
      CONSTRAINT transfers_resolve_once UNIQUE (pending_id, opened_at),
      CONSTRAINT transfers_signup_is_a_part CHECK (signup_amount <= amount AND released_signup <= released),
      -- The rules are in domain/ledger.ts; this keeps them against whatever writes past it.
      CONSTRAINT transfers_books CHECK ((kind, debit, credit) IN (
        ('topup', 'payments', 'available'),
        ('signup_grant', 'signup_credit', 'available'),
        ('reservation', 'available', 'reserved'),
        ('settlement', 'reserved', 'revenue'),
        ('refund', 'reserved', 'available'),
        ('excess', 'available', 'revenue'),
        ('absorbed_loss', 'absorbed_loss', 'revenue'),
        ('adjustment', 'adjustments', 'available'),
        ('adjustment', 'available', 'adjustments'))),
      CONSTRAINT transfers_resolution_names_reservation
        CHECK ((kind IN ('settlement', 'refund')) = (pending_id IS NOT NULL)),
      CONSTRAINT transfers_chain_opens_with_first_row CHECK (pending_id IS NOT NULL OR opened_at = created_at),
      CONSTRAINT transfers_only_settlements_release CHECK (released = 0 OR kind = 'settlement'),
      CONSTRAINT transfers_have_one_cause CHECK (num_nonnulls(task_id, text_request_id) <= 1),
      CONSTRAINT transfers_reservations_have_a_cause
        CHECK (kind NOT IN ('reservation', 'settlement', 'refund', 'excess', 'absorbed_loss')
          OR num_nonnulls(task_id, text_request_id) = 1),
      CONSTRAINT transfers_tasks_cost_their_price_or_nothing
        CHECK (task_id IS NULL OR (kind IN ('reservation', 'settlement', 'refund') AND released = 0)),
      CONSTRAINT transfers_credit_of_one_kind
        CHECK (kind NOT IN ('topup', 'signup_grant') OR signup_amount = CASE kind WHEN 'topup' THEN 0 ELSE amount END),
      CONSTRAINT transfers_adjustments_are_signed
        CHECK (kind <> 'adjustment' OR (author IS NOT NULL AND reason IS NOT NULL))
    ) PARTITION BY RANGE (opened_at);
    CREATE INDEX transfers_by_account ON transfers (account_id, created_at, id);
    CREATE INDEX transfers_absorbed ON transfers (created_at) WHERE kind = 'absorbed_loss';
    CREATE UNIQUE INDEX transfers_once_per_task ON transfers (task_id, opened_at, kind) WHERE task_id IS NOT NULL;
    CREATE INDEX transfers_beyond_holds ON transfers (text_request_id) WHERE kind IN ('excess', 'absorbed_loss');
    CREATE INDEX transfers_refunds ON transfers (id) WHERE kind = 'refund';

    CREATE TABLE top_ups (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 255),
      amount pico_usd NOT NULL CHECK (amount > 0),
      transfer_id text COLLATE "C" NOT NULL UNIQUE,
      created_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, reference)
    );
    CREATE UNIQUE INDEX top_ups_one_per_payment ON top_ups (reference) WHERE reference LIKE 'payment:%';

    -- Payments that were announced for another account, or of another amount, than they had been credited.
    CREATE TABLE contradicted_payments (
      reference text NOT NULL,
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      amount pico_usd NOT NULL CHECK (amount > 0),
      announced_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (reference, account_id, amount)
    );

    -- Not a foreign key, which would keep the month of the transfer: a top-up stays when that is detached.
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

    CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE ON transfers
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER transfers_not_truncated BEFORE TRUNCATE ON transfers
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER top_ups_append_only BEFORE UPDATE OR DELETE ON top_ups
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER top_ups_not_truncated BEFORE TRUNCATE ON top_ups
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    -- Here and below rows are found by index, whatever the statistics say: they lag behind a young partition, and a plan made
    -- while it was empty would read all of it.
    CREATE FUNCTION check_resolutions() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE
      wrong record;
    BEGIN
      -- Preparing the search in every partition costs more than this look, and half of all statements only reserve.
      IF NOT EXISTS (SELECT FROM inserted WHERE pending_id IS NOT NULL) THEN
        RETURN NULL;
      END IF;
      SELECT resolution.id, resolution.pending_id, held.id IS NOT NULL AS has_reservation INTO wrong
      FROM inserted AS resolution
      LEFT JOIN LATERAL (
        SELECT * FROM transfers
        WHERE id = resolution.pending_id AND opened_at = resolution.opened_at AND kind = 'reservation' OFFSET 0
      ) AS held ON true
      WHERE resolution.pending_id IS NOT NULL
        AND (held.id IS NULL OR
          (resolution.account_id, resolution.api_key_id, resolution.task_id, resolution.text_request_id,
            resolution.amount + resolution.released, resolution.signup_amount + resolution.released_signup)
          IS DISTINCT FROM
          (held.account_id, held.api_key_id, held.task_id, held.text_request_id, held.amount, held.signup_amount))
      LIMIT 1;
      IF wrong.has_reservation THEN
        RAISE EXCEPTION 'transfer % does not match its reservation %', wrong.id, wrong.pending_id
          USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
      ELSIF NOT wrong.has_reservation THEN
        RAISE EXCEPTION 'transfer % resolves no reservation %', wrong.id, wrong.pending_id
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER transfers_match_reservation AFTER INSERT ON transfers
      REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION check_resolutions();

    CREATE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE
      expected bigint;
      moved bigint;
    BEGIN
      WITH signed AS (
        SELECT account_id, kind, created_at, signup_amount, amount - signup_amount AS funded_amount,
          released_signup, released - released_signup AS released_funded,
          (credit = 'available')::int - (debit = 'available')::int AS to_available,
          (credit = 'reserved')::int - (debit = 'reserved')::int AS to_reserved
        FROM inserted
      ), movements AS (
        SELECT account_id,
          sum(to_available * signup_amount + released_signup) AS signup_available,
          sum(to_reserved * signup_amount - released_signup) AS signup_reserved,
          sum(to_available * funded_amount + released_funded) AS funded_available,
          sum(to_reserved * funded_amount - released_funded) AS funded_reserved,
          min(created_at) FILTER (WHERE kind = 'topup') AS topped_up_at
        FROM signed GROUP BY account_id
      ), updated AS (
        UPDATE accounts SET
          signup_available = accounts.signup_available + movements.signup_available,
          signup_reserved = accounts.signup_reserved + movements.signup_reserved,
          funded_available = accounts.funded_available + movements.funded_available,
          funded_reserved = accounts.funded_reserved + movements.funded_reserved,
          topped_up_at = coalesce(accounts.topped_up_at, movements.topped_up_at)
        FROM movements WHERE accounts.id = movements.account_id
          AND accounts.id = ANY (ARRAY(SELECT account_id FROM movements))
        RETURNING 1
      )
      SELECT (SELECT count(*) FROM movements), (SELECT count(*) FROM updated) INTO expected, moved;
      IF expected <> moved THEN
        RAISE EXCEPTION 'a transfer names an account that does not exist'
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;

      -- A key has used what it reserved, less what came back.
      WITH movements AS (
        SELECT account_id, api_key_id,
          sum(CASE kind
            WHEN 'reservation' THEN amount
            WHEN 'excess' THEN amount
            WHEN 'settlement' THEN -released
            WHEN 'refund' THEN -amount
            ELSE 0 END) AS used,
          sum(CASE kind
            WHEN 'reservation' THEN amount
            WHEN 'settlement' THEN -(amount + released)
            WHEN 'refund' THEN -amount
            ELSE 0 END) AS reserved
        FROM inserted WHERE api_key_id IS NOT NULL GROUP BY account_id, api_key_id
      ), changes AS (
        SELECT * FROM movements WHERE used <> 0 OR reserved <> 0
      ), updated AS (
        UPDATE api_keys SET used = api_keys.used + changes.used, reserved = api_keys.reserved + changes.reserved
        FROM changes WHERE api_keys.id = changes.api_key_id AND api_keys.account_id = changes.account_id
          AND api_keys.id = ANY (ARRAY(SELECT api_key_id FROM changes))
        RETURNING 1
      )
      SELECT (SELECT count(*) FROM changes), (SELECT count(*) FROM updated) INTO expected, moved;
      IF expected <> moved THEN
        RAISE EXCEPTION 'a transfer names a key that is not of its account'
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER transfers_move_balances AFTER INSERT ON transfers
      REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION move_balances();

    CREATE FUNCTION only_the_ledger_moves_money() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'the balances of % are moved by transfers only', TG_TABLE_NAME
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER accounts_balances BEFORE UPDATE ON accounts FOR EACH ROW
      WHEN ((OLD.signup_available, OLD.signup_reserved, OLD.funded_available, OLD.funded_reserved, OLD.topped_up_at)
        IS DISTINCT FROM
          (NEW.signup_available, NEW.signup_reserved, NEW.funded_available, NEW.funded_reserved, NEW.topped_up_at))
      EXECUTE FUNCTION only_the_ledger_moves_money();
    CREATE TRIGGER accounts_start_empty BEFORE INSERT ON accounts FOR EACH ROW
      WHEN (NEW.topped_up_at IS NOT NULL
        OR NEW.signup_available + NEW.signup_reserved + NEW.funded_available + NEW.funded_reserved <> 0)
      EXECUTE FUNCTION only_the_ledger_moves_money();
    CREATE TRIGGER api_keys_usage BEFORE UPDATE ON api_keys FOR EACH ROW
      WHEN ((OLD.used, OLD.reserved) IS DISTINCT FROM (NEW.used, NEW.reserved)) EXECUTE FUNCTION only_the_ledger_moves_money();
    CREATE TRIGGER api_keys_start_unused BEFORE INSERT ON api_keys FOR EACH ROW
      WHEN (NEW.used + NEW.reserved <> 0) EXECUTE FUNCTION only_the_ledger_moves_money();
  `);
}
