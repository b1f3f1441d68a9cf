-- The expired part of an account's signup credit; called only for accounts with `has_promo`.

CREATE OR REPLACE FUNCTION expired_promo(owner_id text) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(available), 0) FROM promo_grants
  WHERE account_id = owner_id AND is_open AND expires_at <= now()
$$;

-- The expired part of the promo credit that a reservation or an allowance holds.
CREATE OR REPLACE FUNCTION expired_hold(held_id text) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(held.amount), 0) FROM promo_holds AS held
  JOIN promo_grants AS promo ON promo.id = held.grant_id
  WHERE hold_id = held_id AND expires_at <= now()
$$;

-- Applies one transfer to the grants of its account; called under the lock of the account.

CREATE OR REPLACE FUNCTION move_promo(moved_kind text, transfer_id text, held_id text, owner_id text, given numeric,
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
  ELSIF moved_kind IN ('reservation', 'allowance', 'excess') THEN
    FOR part IN SELECT id, available FROM promo_grants
      WHERE account_id = owner_id AND is_open AND available > 0 AND expires_at > now() ORDER BY expires_at, id
    LOOP
      EXIT WHEN rest = 0;
      taken := least(rest, part.available);
      rest := rest - taken;
      UPDATE promo_grants SET available = available - taken,
        reserved = reserved + CASE moved_kind WHEN 'excess' THEN 0 ELSE taken END,
        spent = spent + CASE moved_kind WHEN 'excess' THEN taken ELSE 0 END
      WHERE id = part.id;
      IF moved_kind <> 'excess' THEN
        INSERT INTO promo_holds AS held VALUES (held_id, part.id, taken)
        ON CONFLICT (hold_id, grant_id) DO UPDATE SET amount = held.amount + EXCLUDED.amount;
      END IF;
    END LOOP;
  ELSIF moved_kind IN ('settlement', 'charge', 'refund', 'release') THEN
    -- Of an allowance, other signup credit returns first, and expired promo credit before promo credit that can be spent.
    IF moved_kind = 'release' THEN
      SELECT least(given, greatest(sum(amount) - coalesce(
        (SELECT signup_amount FROM text_allowances WHERE id = held_id), 0), expired_hold(held_id)))
      INTO rest FROM promo_holds WHERE hold_id = held_id;
    END IF;
    FOR part IN SELECT held.grant_id, held.amount FROM promo_holds AS held
      JOIN promo_grants AS promo ON promo.id = held.grant_id
      WHERE held.hold_id = held_id ORDER BY promo.expires_at, promo.id
    LOOP
      EXIT WHEN coalesce(rest, 0) <= 0;
      taken := least(rest, part.amount);
      rest := rest - taken;
      UPDATE promo_grants SET reserved = reserved - taken,
        spent = spent + CASE WHEN moved_kind IN ('settlement', 'charge') THEN taken ELSE 0 END,
        available = available + CASE WHEN moved_kind IN ('settlement', 'charge') THEN 0 ELSE taken END
      WHERE id = part.grant_id;
      IF taken = part.amount THEN DELETE FROM promo_holds WHERE hold_id = held_id AND grant_id = part.grant_id;
      ELSE UPDATE promo_holds SET amount = amount - taken WHERE hold_id = held_id AND grant_id = part.grant_id;
      END IF;
    END LOOP;
  END IF;
END $$;
