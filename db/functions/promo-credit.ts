/** The expired part of an account's signup credit; called only for accounts with `has_promo`. */
export const EXPIRED_PROMO = /* sql */ `
CREATE OR REPLACE FUNCTION expired_promo(owner_id text) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(available), 0) FROM promo_grants
  WHERE account_id = owner_id AND is_open AND expires_at <= now()
$$;
`;

/** What one transfer does to the grants of its account; called under the lock of the account. */
export const MOVE_PROMO = /* sql */ `
CREATE OR REPLACE FUNCTION move_promo(moved_kind text, transfer_id text, resolved_id text, owner_id text, given numeric,
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
