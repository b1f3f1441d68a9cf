-- The budgets of end users. `used` is the sum of the charges in the period and the holds: the allowances of text
-- processes and the prices of running tasks. So neither charges from an allowance nor settlements of tasks change
-- `used`. A period starts with its first use, like the period of a key, and holds at that time count towards it.
-- `period_since` is the time of the first use, from which reconciliation sums charges.

CREATE OR REPLACE FUNCTION is_budget_over(budget end_user_budgets, moment timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT budget.period_since < date_trunc(budget.limit_period, moment, 'UTC')
$$;

-- Returns the budget, renewed if a period started before the moment; nulls if the account has no such budget. Called under the lock of the account.
CREATE OR REPLACE FUNCTION current_budget(budget_id text, owner_id text, moment timestamptz) RETURNS end_user_budgets
LANGUAGE plpgsql AS $$
DECLARE
  budget end_user_budgets;
BEGIN
  SELECT * INTO budget FROM end_user_budgets WHERE id = budget_id AND account_id = owner_id FOR NO KEY UPDATE;
  IF is_budget_over(budget, moment) THEN
    UPDATE end_user_budgets SET used = held_for_budget(end_user_budgets), period_since = moment
    WHERE id = budget_id RETURNING * INTO budget;
  END IF;
  RETURN budget;
END $$;

-- Returns current_budget for the end user of that name.
CREATE OR REPLACE FUNCTION budget_of_end_user(owner_id text, name text, moment timestamptz) RETURNS end_user_budgets
LANGUAGE sql AS $$
  SELECT current.* FROM end_user_budgets AS known, current_budget(known.id, owner_id, moment) AS current
  WHERE known.account_id = owner_id AND known.end_user = name
$$;

-- Returns the sum of the prices of an end user's running tasks.
CREATE OR REPLACE FUNCTION held_by_tasks(owner_id text, name text) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(price), 0) FROM tasks
    WHERE account_id = owner_id AND end_user = name AND status IN ('queued', 'processing'));
END $$;

-- Returns the money held for the end user: by tasks, and by the allowances of text processes.
CREATE OR REPLACE FUNCTION held_for_budget(budget end_user_budgets) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN held_by_tasks(budget.account_id, budget.end_user) + (SELECT coalesce(sum(amount), 0) FROM text_allowances
    WHERE account_id = budget.account_id AND end_user_budget_id = budget.id);
END $$;

-- Returns the amount that counts towards the limit of a budget.
CREATE OR REPLACE FUNCTION used_of_budget(budget end_user_budgets, moment timestamptz) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN is_budget_over(budget, moment) THEN held_for_budget(budget) ELSE budget.used END
$$;

-- Counts money that leaves the balance for the end user, or returns if the amount is negative. Called after current_budget.
CREATE OR REPLACE FUNCTION count_towards_budget(budget_id text, amount numeric) RETURNS void LANGUAGE sql AS $$
  UPDATE end_user_budgets SET used = used + amount WHERE id = budget_id AND amount <> 0
$$;
