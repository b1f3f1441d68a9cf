/** Checks whether the stored sums of usage and transfers agree with the rows. */
import { sumTransfersWhere } from '../queries/daily-transfers.ts';
import { sumUsedIn, USAGE_MEASURES, USAGE_NAMES } from '../queries/daily-usage.ts';
import { sqlCheck } from './check.ts';

const numbersOf = (which: string): string =>
  `nullif(concat_ws(', ', ${['transfers', 'available', 'reserved'].map((name) => `sum(${name}) FILTER (WHERE ${which})`).join(', ')}), '')`;

export const USAGE_CHECKS = [
  sqlCheck({
    name: 'daily_usage',
    question: 'Does the daily usage of every account equal the sum of its tasks and text requests?',
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
  sqlCheck({
    name: 'daily_transfers',
    question: 'Do the daily sums of transfers of every account equal its transfers?',
    remedy:
      'The transfers are right. Set the row of daily_transfers to the sum of the transfers, or delete the row if there are none.',
    sql: /* sql */ `
      WITH carried AS (
        SELECT account_id, min(month) AS since, sum(signup_available + funded_available) AS available,
          sum(signup_reserved + funded_reserved) AS reserved
        FROM carried_balances GROUP BY account_id
      ), summed AS (
        SELECT true AS is_kept, * FROM daily_transfers
        UNION ALL
        SELECT false, rows.* FROM (${sumTransfersWhere('created_at < (SELECT before FROM daily_usage_summed)')}) AS rows
      ), part AS (
        SELECT account_id, day, kind, is_kept, transfers, summed.available, summed.reserved
        FROM summed LEFT JOIN carried USING (account_id) WHERE since IS NULL OR day < since
        -- The rows of detached months are gone, and it is not known which days they were of: only totals can be compared.
        UNION ALL
        SELECT account_id, NULL, NULL, is_kept, NULL, summed.available, summed.reserved
        FROM summed JOIN carried USING (account_id) WHERE day >= since
        UNION ALL
        SELECT account_id, NULL, NULL, false, NULL, available, reserved FROM carried
      ), compared AS (
        SELECT account_id, day, kind,
          ${numbersOf('is_kept')} AS kept, ${numbersOf('NOT is_kept')} AS moved
        FROM part GROUP BY account_id, day, kind
      )
      SELECT account_id AS subject, format('%s on %s: %s kept, its transfers add up to %s', coalesce(kind, 'everything'),
        coalesce(day::text, 'all days since a month was detached'), coalesce(kept, 'nothing'), coalesce(moved, 'nothing')) AS detail
      FROM compared WHERE kept IS DISTINCT FROM moved ORDER BY 1, 2`,
  }),
];
