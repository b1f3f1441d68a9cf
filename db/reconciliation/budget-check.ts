/** Checks whether budgets agree with the charges of their requests and tasks. */
import { sqlCheck } from './check.ts';

/** Text processes know a new budget within this time. The allowance of the key pays for earlier requests. */
const KNOWN_WITHIN = `interval '10 seconds'`;
/** Charges have times in milliseconds. A charge at the start of a period may count towards the period or not. */
const AROUND_BEGINNING = `interval '10 milliseconds'`;
/** No text request or task takes longer. */
const MAX_REQUEST = `interval '2 days'`;

/** Whether a text request or a task counts towards the budget. */
function isOfBudget(row: string): string {
  return /* sql */ `(budgets.end_user IS NULL OR ${row}.end_user = budgets.end_user)
        AND (budgets.models IS NULL OR matches_models(budgets.models, ${row}.model))`;
}

/** Checks budgets used in the current period. After names were erased, the charges found may be lower than the use. */
export const BUDGET_CHECK = sqlCheck({
  name: 'budgets',
  question: 'Does the usage of every budget equal the charges of its period plus the held amount?',
  remedy: 'The charges are right. Set the usage of the budget to the charges of its period plus the held amount.',
  sql: /* sql */ `
    WITH budgets AS (
      SELECT budget.*, held_for_budget(budget) AS held,
        end_user IS NOT NULL AND coalesce(erase_content_before(account) > period_since - ${MAX_REQUEST}, false) AS has_erased
      FROM budgets AS budget JOIN accounts AS account ON account.id = budget.account_id
      WHERE budget.period_since >= date_trunc(budget.limit_period, now(), 'UTC')
    ), charges AS (
      SELECT budgets.id, charge.amount, charge.created_at > period_since + ${AROUND_BEGINNING}
          AND request.created_at > period_since + ${KNOWN_WITHIN} AS is_of_budget
      FROM budgets
      JOIN text_requests AS request ON request.account_id = budgets.account_id
        AND ${isOfBudget('request')} AND request.created_at >= period_since - ${MAX_REQUEST}
      JOIN transfers AS charge ON charge.text_request_id = request.id AND charge.kind IN ('charge', 'excess')
        AND charge.created_at >= period_since - ${AROUND_BEGINNING}
      UNION ALL
      SELECT budgets.id, task.price, settlement.created_at > period_since + ${AROUND_BEGINNING}
      FROM budgets
      JOIN tasks AS task ON task.account_id = budgets.account_id AND ${isOfBudget('task')}
        AND task.status = 'succeeded' AND task.created_at >= period_since - ${MAX_REQUEST}
      JOIN transfers AS settlement ON settlement.id = task.resolution_id AND settlement.opened_at = task.created_at
        AND settlement.created_at >= period_since - ${AROUND_BEGINNING}
    ), sums AS (
      SELECT id, sum(amount) AS most, sum(amount) FILTER (WHERE is_of_budget) AS least FROM charges GROUP BY id
    )
    SELECT budgets.id AS subject, format('%s used, of it %s held; charged %s', used, held, coalesce(most, 0)) AS detail
    FROM budgets LEFT JOIN sums USING (id)
    WHERE used - held < coalesce(least, 0) OR (used - held > coalesce(most, 0) AND NOT has_erased)
    ORDER BY 1`,
});
