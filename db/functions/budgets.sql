-- The budgets of an account: of all of it, of some of its models, or of one of its end users. `used` is the sum of the
-- charges in the period and the holds: the allowances of text processes and the prices of running tasks. So neither
-- charges from an allowance nor settlements of tasks change `used`. A period starts with its first use, like the period
-- of a key, and holds at that time count towards it. `period_since` is the time of the first use, from which
-- reconciliation sums charges.
--
-- What a budget counts never changes: a request counts towards the same budgets when it is held, charged and refunded.

CREATE OR REPLACE FUNCTION is_budget_over(budget budgets, moment timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT budget.period_since < date_trunc(budget.limit_period, moment, 'UTC')
$$;

-- Whether the model is among the patterns: ids of models, or their beginnings with a final `*`. The same as
-- `matchesModels` in `domain/model-patterns.ts`.
CREATE OR REPLACE FUNCTION matches_models(patterns text[], model text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (SELECT FROM unnest(patterns) AS pattern
    WHERE CASE WHEN right(pattern, 1) = '*' THEN starts_with(model, left(pattern, -1)) ELSE model = pattern END)
$$;

-- Returns the ids of the budgets towards which a request of the account counts, in the order in which they are locked.
CREATE OR REPLACE FUNCTION budgets_of(owner_id text, name text, called_model text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT id FROM budgets WHERE account_id = owner_id AND end_user = name
    UNION ALL
    SELECT id FROM budgets WHERE account_id = owner_id AND end_user IS NULL
      AND (models IS NULL OR matches_models(models, called_model))
    ORDER BY id);
END $$;

-- Renews each of the budgets whose period started before the moment, and returns the budget with the least left; nulls if
-- the account has none of them. Called under the lock of the account.
CREATE OR REPLACE FUNCTION tightest_budget(budget_ids text[], owner_id text, moment timestamptz) RETURNS budgets
LANGUAGE plpgsql AS $$
DECLARE
  budget budgets;
  tightest budgets;
BEGIN
  FOR budget IN SELECT * FROM budgets WHERE id = ANY (budget_ids) AND account_id = owner_id ORDER BY id FOR NO KEY UPDATE
  LOOP
    IF is_budget_over(budget, moment) THEN
      UPDATE budgets SET used = held_for_budget(budgets), period_since = moment
      WHERE id = budget.id RETURNING * INTO budget;
    END IF;
    IF tightest.id IS NULL OR budget.usage_limit - budget.used < tightest.usage_limit - tightest.used THEN
      tightest := budget;
    END IF;
  END LOOP;
  RETURN tightest;
END $$;

-- Returns the sum of the prices of the running tasks that count towards a budget.
CREATE OR REPLACE FUNCTION held_by_tasks(budget budgets) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(price), 0) FROM tasks
    WHERE account_id = budget.account_id AND status IN ('queued', 'processing')
      AND (budget.end_user IS NULL OR end_user = budget.end_user)
      AND (budget.models IS NULL OR matches_models(budget.models, model)));
END $$;

-- Returns the money held for the budget: by tasks, and by the allowances of text processes.
CREATE OR REPLACE FUNCTION held_for_budget(budget budgets) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN held_by_tasks(budget) + (SELECT coalesce(sum(amount), 0) FROM text_allowances
    WHERE account_id = budget.account_id AND budget.id = ANY (budget_ids));
END $$;

-- Returns the amount that counts towards the limit of a budget.
CREATE OR REPLACE FUNCTION used_of_budget(budget budgets, moment timestamptz) RETURNS numeric
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN is_budget_over(budget, moment) THEN held_for_budget(budget) ELSE budget.used END
$$;

-- Counts money that leaves the balance for requests, or returns if the amount is negative. Called under the lock of the
-- account; after tightest_budget, unless the money returns to budgets whose period it was counted in.
CREATE OR REPLACE FUNCTION count_towards_budgets(counted_ids text[], amount numeric) RETURNS void LANGUAGE sql AS $$
  UPDATE budgets SET used = used + amount WHERE id = ANY (counted_ids) AND amount <> 0
$$;
