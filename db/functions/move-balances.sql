-- The trigger function that refuses transfers in closed months and resolutions that differ from their reservations, applies
-- inserted transfers to accounts, keys and grants of promo credit, and collects debts. One trigger does it all, because each
-- further trigger makes every write of text dearer.
--
-- This function and others disable sequential scans: statistics lag behind a young partition, and a plan that was made
-- while the partition was empty would read all of it.

CREATE OR REPLACE FUNCTION move_balances() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  facts record;
  wrong record;
  movement record;
  account_has_promo boolean;
  account_can_pay boolean;
  promo_account_ids text[] := '{}';
  paying_account_ids text[] := '{}';
  paying_account_id text;
BEGIN
  SELECT min(created_at) AS first_at, bool_or(pending_id IS NOT NULL) AS has_resolutions INTO facts FROM inserted;
  IF facts.first_at < (SELECT (max(month) + interval '1 month') AT TIME ZONE 'UTC' FROM closed_months) THEN
    RAISE EXCEPTION 'a transfer is dated in a month that is closed'
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
  END IF;

  -- Text resolves no reservations, and this check costs less than preparing the search in every partition.
  IF facts.has_resolutions THEN
    SELECT resolution.id, resolution.pending_id, held.id IS NOT NULL AS has_reservation INTO wrong
    FROM inserted AS resolution
    LEFT JOIN LATERAL (
      SELECT * FROM transfers
      WHERE id = resolution.pending_id AND opened_at = resolution.opened_at AND kind = 'reservation' OFFSET 0
    ) AS held ON true
    WHERE resolution.pending_id IS NOT NULL
      AND (held.id IS NULL OR
        (resolution.account_id, resolution.api_key_id, resolution.task_id, resolution.amount, resolution.signup_amount)
        IS DISTINCT FROM (held.account_id, held.api_key_id, held.task_id, held.amount, held.signup_amount))
    LIMIT 1;
    IF wrong.has_reservation THEN
      RAISE EXCEPTION 'transfer % does not match its reservation %', wrong.id, wrong.pending_id
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
    ELSIF NOT wrong.has_reservation THEN
      RAISE EXCEPTION 'transfer % resolves no reservation %', wrong.id, wrong.pending_id
        USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
    END IF;
  END IF;

  -- A row for each account, before one for each of its keys.
  FOR movement IN
    SELECT account_id, key_id, grouping(key_id) = 1 AS is_of_account,
      sum(CASE WHEN credit = 'available' THEN amount WHEN debit = 'available' THEN -amount ELSE 0 END)
        AS available,
      sum(CASE WHEN credit = 'available' THEN signup_amount WHEN debit = 'available' THEN -signup_amount
        ELSE 0 END) AS signup_available,
      sum(CASE WHEN credit = 'reserved' THEN amount WHEN debit = 'reserved' THEN -amount ELSE 0 END)
        AS reserved,
      sum(CASE WHEN credit = 'reserved' THEN signup_amount
        WHEN debit = 'reserved' THEN -signup_amount ELSE 0 END) AS signup_reserved,
      min(CASE WHEN kind IN ('topup', 'gift') OR (kind = 'promo_grant'
        AND EXISTS (SELECT FROM promo_grants WHERE id = moved.reference AND is_paid)) OR (kind = 'merge_in'
        AND EXISTS (SELECT FROM accounts WHERE id = moved.reference AND topped_up_at IS NOT NULL)) THEN created_at END) AS topped_up_at,
      bool_or(kind = 'promo_grant') AS gives_promo
    FROM (SELECT *, CASE WHEN kind NOT IN ('topup', 'signup_grant', 'promo_grant', 'promo_expiry', 'gift', 'adjustment')
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
      WHERE id = movement.account_id
      RETURNING has_promo, debt > 0 AND funded_available > 0 INTO account_has_promo, account_can_pay;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'a transfer names an account that does not exist'
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;
      IF account_has_promo THEN promo_account_ids := promo_account_ids || movement.account_id; END IF;
      IF account_can_pay THEN paying_account_ids := paying_account_ids || movement.account_id; END IF;
    ELSIF movement.key_id IS NOT NULL AND (movement.available <> 0 OR movement.reserved <> 0) THEN
      -- A key has used what left the balance minus what returned.
      UPDATE api_keys SET used = used - movement.available, reserved = reserved + movement.reserved,
        last_used_at = CASE WHEN movement.available < 0 THEN now() ELSE last_used_at END,
        used_before = CASE WHEN limit_period IS NULL THEN used_before ELSE greatest(0, used_before - (
          SELECT coalesce(sum(amount), 0) FROM inserted
          WHERE api_key_id = movement.key_id AND kind = 'refund' AND opened_at < period_since)) END
      WHERE id = movement.key_id AND account_id = movement.account_id;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'a transfer names a key that is not of its account'
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;
    END IF;
  END LOOP;

  IF promo_account_ids <> '{}' THEN
    -- In the order in which a statement counts: what allowances return can be granted again at once.
    PERFORM move_promo(kind, id, coalesce(allowance_id, pending_id, id), account_id, signup_amount, reference)
    FROM (SELECT * FROM inserted WHERE account_id = ANY (promo_account_ids)
        AND signup_amount > 0
      ORDER BY array_position(ARRAY['charge', 'release', 'allowance'], kind), pending_id IS NOT NULL, id) AS moved;
    UPDATE accounts SET has_promo = false
    WHERE id = ANY (promo_account_ids)
      AND NOT EXISTS (SELECT FROM promo_grants WHERE account_id = accounts.id AND is_open);
  END IF;
  FOREACH paying_account_id IN ARRAY paying_account_ids LOOP
    PERFORM collect_debts(paying_account_id);
  END LOOP;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER transfers_move_balances AFTER INSERT ON transfers
  REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION move_balances();
