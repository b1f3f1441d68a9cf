import type { Knex } from 'knex';

/**
 * Promo credit: given like signup credit, but it expires.
 *
 * - A grant is what was given at once, with the time until which it can be spent. What is left of it is a part of its
 *   account's signup balances, so that holds and settlements ask what they always asked, and accounts without promo credit
 *   pay nothing for it: `accounts.has_promo` says whether a grant is open.
 * - Whatever takes signup credit takes promo credit first, of the grant that expires first. The trigger that moves the
 *   balances does so, and keeps for each hold what it took from which grant (`promo_holds`): a settlement spends that in
 *   the same order, and what comes back goes back to the grant it came from.
 * - When a grant's time is over, nothing takes of it any more: whatever takes signup credit leaves out what
 *   `expired_promo` says. The time is that of the transaction, so that all of its statements agree.
 * - Some seconds later, a transfer `promo_expiry` takes what is available. What holds give back afterwards expires
 *   by another one. `reference` of both kinds of transfer is the grant.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    ALTER TABLE accounts ADD COLUMN has_promo boolean NOT NULL DEFAULT false;
    CREATE TRIGGER accounts_has_promo BEFORE UPDATE ON accounts FOR EACH ROW
      WHEN (OLD.has_promo <> NEW.has_promo) EXECUTE FUNCTION only_the_ledger_moves_money();

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
      created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT promo_grants_once_per_reference UNIQUE (account_id, reference),
      CONSTRAINT promo_grants_add_up CHECK (available + reserved + spent + expired IN (0, amount)),
      CONSTRAINT promo_grants_last CHECK (expires_at > created_at)
    );
    CREATE INDEX promo_grants_open ON promo_grants (account_id, expires_at, id) WHERE is_open;
    CREATE INDEX promo_grants_due ON promo_grants (expires_at) WHERE is_open;
    CREATE TRIGGER promo_grants_keep_identity BEFORE UPDATE ON promo_grants FOR EACH ROW
      WHEN ((OLD.id, OLD.account_id, OLD.reference, OLD.amount, OLD.expires_at, OLD.author, OLD.reason, OLD.created_at)
        IS DISTINCT FROM
          (NEW.id, NEW.account_id, NEW.reference, NEW.amount, NEW.expires_at, NEW.author, NEW.reason, NEW.created_at))
      EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER promo_grants_balances BEFORE UPDATE ON promo_grants FOR EACH ROW
      WHEN ((OLD.available, OLD.reserved, OLD.spent, OLD.expired)
        IS DISTINCT FROM (NEW.available, NEW.reserved, NEW.spent, NEW.expired))
      EXECUTE FUNCTION only_the_ledger_moves_money();
    CREATE TRIGGER promo_grants_start_empty BEFORE INSERT ON promo_grants FOR EACH ROW
      WHEN (NEW.available + NEW.reserved + NEW.spent + NEW.expired <> 0)
      EXECUTE FUNCTION only_the_ledger_moves_money();
    CREATE TRIGGER promo_grants_are_kept BEFORE DELETE ON promo_grants FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER promo_grants_not_truncated BEFORE TRUNCATE ON promo_grants
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    -- What open reservations took from which grant.
    CREATE TABLE promo_holds (
      reservation_id text COLLATE "C" NOT NULL,
      grant_id text COLLATE "C" NOT NULL REFERENCES promo_grants,
      amount pico_usd NOT NULL CHECK (amount > 0),
      PRIMARY KEY (reservation_id, grant_id)
    );

    ALTER TABLE transfers
      DROP CONSTRAINT transfers_books,
      ADD CONSTRAINT transfers_books CHECK ((kind, debit, credit) IN (
        ('topup', 'payments', 'available'),
        ('signup_grant', 'signup_credit', 'available'),
        ('promo_grant', 'promo_credit', 'available'),
        ('promo_expiry', 'available', 'promo_credit'),
        ('reservation', 'available', 'reserved'),
        ('settlement', 'reserved', 'revenue'),
        ('refund', 'reserved', 'available'),
        ('excess', 'available', 'revenue'),
        ('absorbed_loss', 'absorbed_loss', 'revenue'),
        ('adjustment', 'adjustments', 'available'),
        ('adjustment', 'available', 'adjustments'))),
      DROP CONSTRAINT transfers_credit_of_one_kind,
      ADD CONSTRAINT transfers_credit_of_one_kind
        CHECK (kind NOT IN ('topup', 'signup_grant', 'promo_grant', 'promo_expiry')
          OR signup_amount = CASE kind WHEN 'topup' THEN 0 ELSE amount END),
      ADD CONSTRAINT transfers_promo_names_its_grant
        CHECK (kind NOT IN ('promo_grant', 'promo_expiry') OR reference IS NOT NULL);
  `);
  await knex.raw(EXPIRED_PROMO);
  await knex.raw(MOVE_PROMO);
  await knex.raw(MOVE_BALANCES);
}

/** What is still a part of an account's signup credit although its time is over; asked only where `has_promo`. */
const EXPIRED_PROMO = /* sql */ `
  CREATE FUNCTION expired_promo(owner_id text) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(available), 0) FROM promo_grants
    WHERE account_id = owner_id AND is_open AND expires_at <= now()
  $$;
`;

/** What one transfer does to the grants of its account; called under the lock of the account. */
const MOVE_PROMO = /* sql */ `
  CREATE FUNCTION move_promo(moved_kind text, transfer_id text, resolved_id text, owner_id text, given numeric,
    moved_reference text)
  RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
  DECLARE
    part record;
    rest numeric := given;
    taken numeric;
  BEGIN
    IF moved_kind IN ('promo_grant', 'promo_expiry') THEN
      UPDATE promo_grants SET
        available = available + CASE moved_kind WHEN 'promo_grant' THEN given ELSE -given END,
        expired = expired + CASE moved_kind WHEN 'promo_expiry' THEN given ELSE 0 END
      WHERE id = moved_reference AND account_id = owner_id;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'transfer % names no grant of its account', transfer_id
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'transfers_promo_of_a_grant';
      END IF;
    ELSIF moved_kind IN ('reservation', 'excess') THEN
      FOR part IN SELECT id, available FROM promo_grants
        WHERE account_id = owner_id AND is_open AND available > 0 AND expires_at > now() ORDER BY expires_at, id
      LOOP
        EXIT WHEN rest = 0;
        taken := least(rest, part.available);
        rest := rest - taken;
        UPDATE promo_grants SET available = available - taken,
          reserved = reserved + CASE moved_kind WHEN 'reservation' THEN taken ELSE 0 END,
          spent = spent + CASE moved_kind WHEN 'excess' THEN taken ELSE 0 END
        WHERE id = part.id;
        IF moved_kind = 'reservation' THEN INSERT INTO promo_holds VALUES (transfer_id, part.id, taken); END IF;
      END LOOP;
    ELSIF moved_kind IN ('settlement', 'refund') THEN
      IF moved_kind = 'refund' THEN rest := 0; END IF;
      FOR part IN SELECT hold.grant_id, hold.amount FROM promo_holds AS hold
        JOIN promo_grants AS promo ON promo.id = hold.grant_id
        WHERE hold.reservation_id = resolved_id ORDER BY promo.expires_at, promo.id
      LOOP
        taken := least(rest, part.amount);
        rest := rest - taken;
        UPDATE promo_grants SET reserved = reserved - part.amount, spent = spent + taken,
          available = available + (part.amount - taken)
        WHERE id = part.grant_id;
      END LOOP;
      DELETE FROM promo_holds WHERE reservation_id = resolved_id;
    END IF;
  END $$;
`;

/** As in migration 0020, and then the grants of the accounts that have any. */
const MOVE_BALANCES = /* sql */ `
  CREATE OR REPLACE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
  DECLARE
    movement record;
    account_has_promo boolean;
    promo_account_ids text[] := '{}';
  BEGIN
    -- A row for each account, before one for each of its keys.
    FOR movement IN
      SELECT account_id, key_id, grouping(key_id) = 1 AS is_of_account,
        sum(CASE WHEN credit = 'available' THEN amount WHEN debit = 'available' THEN -amount ELSE released END)
          AS available,
        sum(CASE WHEN credit = 'available' THEN signup_amount WHEN debit = 'available' THEN -signup_amount
          ELSE released_signup END) AS signup_available,
        sum(CASE WHEN credit = 'reserved' THEN amount WHEN debit = 'reserved' THEN -amount - released ELSE 0 END)
          AS reserved,
        sum(CASE WHEN credit = 'reserved' THEN signup_amount
          WHEN debit = 'reserved' THEN -signup_amount - released_signup ELSE 0 END) AS signup_reserved,
        min(CASE WHEN kind = 'topup' THEN created_at END) AS topped_up_at,
        bool_or(kind = 'promo_grant') AS gives_promo
      FROM (SELECT *, CASE WHEN kind NOT IN ('topup', 'signup_grant', 'promo_grant', 'promo_expiry', 'adjustment')
          THEN api_key_id END AS key_id
        FROM inserted) AS moved
      GROUP BY GROUPING SETS ((account_id), (account_id, key_id)) ORDER BY account_id, is_of_account DESC, key_id
    LOOP
      IF movement.is_of_account THEN
        UPDATE accounts SET
          signup_available = signup_available + movement.signup_available,
          signup_reserved = signup_reserved + movement.signup_reserved,
          funded_available = funded_available + (movement.available - movement.signup_available),
          funded_reserved = funded_reserved + (movement.reserved - movement.signup_reserved),
          topped_up_at = coalesce(topped_up_at, movement.topped_up_at),
          has_promo = has_promo OR movement.gives_promo
        WHERE id = movement.account_id RETURNING has_promo INTO account_has_promo;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'a transfer names an account that does not exist'
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
        END IF;
        IF account_has_promo THEN promo_account_ids := promo_account_ids || movement.account_id; END IF;
      ELSIF movement.key_id IS NOT NULL AND (movement.available <> 0 OR movement.reserved <> 0) THEN
        -- A key has used what left the balance, less what came back.
        UPDATE api_keys SET used = used - movement.available, reserved = reserved + movement.reserved
        WHERE id = movement.key_id AND account_id = movement.account_id;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'a transfer names a key that is not of its account'
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
        END IF;
      END IF;
    END LOOP;

    IF promo_account_ids <> '{}' THEN
      -- What takes credit comes first, because it did not see what the settlements beside it give back.
      PERFORM move_promo(kind, id, pending_id, account_id, signup_amount, reference)
      FROM (SELECT * FROM inserted WHERE account_id = ANY (promo_account_ids)
          AND (signup_amount > 0 OR released_signup > 0)
        ORDER BY pending_id IS NOT NULL, id) AS moved;
      UPDATE accounts SET has_promo = false
      WHERE id = ANY (promo_account_ids)
        AND NOT EXISTS (SELECT FROM promo_grants WHERE account_id = accounts.id AND is_open);
    END IF;
    RETURN NULL;
  END $$;
`;
