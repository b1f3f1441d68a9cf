/**
 * The budgets of end users. `used` is what was charged in the period plus what text processes may still spend, so charges from an
 * allowance do not move it. A period begins with the first use in it, as that of a key does: what text processes may spend then
 * counts towards it. `period_since` is that moment, from which reconciliation adds up charges.
 */
export const END_USER_BUDGETS = /* sql */ `
-- The budget in the period of that moment; nulls if the account has no such budget. Called under the lock of the account.
CREATE OR REPLACE FUNCTION current_budget(budget_id text, owner_id text, moment timestamptz) RETURNS end_user_budgets
LANGUAGE plpgsql AS $$
DECLARE
  budget end_user_budgets;
BEGIN
  SELECT * INTO budget FROM end_user_budgets WHERE id = budget_id AND account_id = owner_id FOR NO KEY UPDATE;
  IF budget.period_since < date_trunc(budget.limit_period, moment, 'UTC') THEN
    UPDATE end_user_budgets SET used = held_for_budget(end_user_budgets), period_since = moment
    WHERE id = budget_id RETURNING * INTO budget;
  END IF;
  RETURN budget;
END $$;

-- What text processes may spend for the end user.
CREATE OR REPLACE FUNCTION held_for_budget(budget end_user_budgets) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(amount), 0) FROM text_allowances
    WHERE account_id = budget.account_id AND end_user_budget_id = budget.id);
END $$;

-- Counts what leaves the balance for the end user, and what returns. Called after current_budget.
CREATE OR REPLACE FUNCTION use_budget(budget_id text, amount numeric) RETURNS void LANGUAGE sql AS $$
  UPDATE end_user_budgets SET used = used + amount WHERE id = budget_id AND amount <> 0
$$;
`;
