/** Are the sums of usage the sums of the rows? */
import { sumUsedIn, USAGE_MEASURES, USAGE_NAMES } from '../queries/daily-usage.ts';
import { sqlCheck } from './check.ts';

export const USAGE_CHECKS = [
  sqlCheck({
    name: 'daily_usage',
    question: 'Is what each account used a day the sum of its tasks and text requests?',
    remedy:
      'The rows are right. Insert the account and the day into late_usage: the day is read from its rows from then on, and the next sweep sums it again. Delete rows of daily_usage that nothing adds up to.',
    sql: /* sql */ `
      WITH kept AS (
        SELECT ${USAGE_NAMES}, ${USAGE_MEASURES} FROM daily_usage
      ), summed AS (
        ${sumUsedIn('SELECT to_timestamp(0) AS begins, before AS ends FROM daily_usage_summed', { ofAccount: false })}
      )
      SELECT account_id AS subject, format('%s of %s by %s on %s: %s kept, its rows add up to %s', kind, model, api_key_id,
        day, coalesce(kept.numbers, 'nothing'), coalesce(summed.numbers, 'nothing')) AS detail
      FROM (SELECT ${USAGE_NAMES}, concat_ws(', ', ${USAGE_MEASURES}) AS numbers FROM kept) AS kept
      FULL JOIN (SELECT ${USAGE_NAMES}, concat_ws(', ', ${USAGE_MEASURES}) AS numbers FROM summed) AS summed
        USING (${USAGE_NAMES})
      WHERE kept.numbers IS DISTINCT FROM summed.numbers
        AND NOT EXISTS (SELECT FROM late_usage AS late WHERE (late.account_id, late.day) = (account_id, day))
        -- Of months that were detached the rows are gone.
        AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'tasks'::regclass
          AND inhrelid = to_regclass('tasks' || to_char(day, '_YYYY_MM')))
      ORDER BY 1, 2`,
  }),
];
