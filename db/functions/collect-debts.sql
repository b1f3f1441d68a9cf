-- The debts of accounts: what payments that returned to their payers are `due`, minus what their accounts have given
-- for it (`taken`). Whatever makes funded credit available pays the debt of its account in the same statement,
-- because `move_balances` calls `collect_debts`: a refund, a release of an allowance, a payment or a correction. So an
-- account that owes has no funded credit to spend.
--
-- A debt that grows recalls the allowances of its account, whose free money then pays it.

-- Called under the lock of the account.
CREATE OR REPLACE FUNCTION collect_debts(owner_id text) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  owed record;
  moment timestamptz(3);
  transfer_id text;
BEGIN
  -- The transfer calls this function again, so each round reads what is left.
  LOOP
    SELECT payment.reference, least(payment.due - payment.taken, account.funded_available) AS amount INTO owed
    FROM returned_payments AS payment JOIN accounts AS account ON account.id = payment.account_id
    WHERE payment.account_id = owner_id AND payment.taken < payment.due ORDER BY payment.reference LIMIT 1;
    EXIT WHEN NOT FOUND OR owed.amount = 0;
    moment := clock_timestamp();
    transfer_id := first_id_at('tr_', moment) || left(md5(gen_random_uuid()::text), 22);
    UPDATE returned_payments SET taken = taken + owed.amount WHERE reference = owed.reference;
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, reference, author, reason)
    VALUES (transfer_id, moment, moment, 'adjustment', 'available', 'adjustments', owed.amount, owner_id, owed.reference,
      'payment provider', owed.reference || ' went back to its payer');
    INSERT INTO due_credit_notes (transfer_id, account_id, reference, amount)
    VALUES (transfer_id, owner_id, owed.reference, owed.amount);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION owe_returned_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  more numeric := NEW.due - NEW.taken;
BEGIN
  IF TG_OP = 'UPDATE' THEN more := more - (OLD.due - OLD.taken); END IF;
  UPDATE accounts SET debt = debt + more WHERE id = NEW.account_id AND more <> 0;
  IF more > 0 THEN
    PERFORM collect_debts(NEW.account_id);
    UPDATE text_allowances SET recalled_at = clock_timestamp()
    WHERE account_id = NEW.account_id AND EXISTS (SELECT FROM accounts WHERE id = NEW.account_id AND debt > 0);
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER returned_payments_are_owed AFTER INSERT OR UPDATE ON returned_payments
  FOR EACH ROW EXECUTE FUNCTION owe_returned_payment();
