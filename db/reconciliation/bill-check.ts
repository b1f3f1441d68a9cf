/** Checks whether the bills of vendors agree with our records. */
import { PICO_PER_USD } from '../../domain/money.ts';
import { sqlCheck } from './check.ts';

/** An amount in pico-USD as `$12.80`. */
const dollars = (sum: string): string =>
  `'$' || to_char(coalesce(${sum}, 0) / ${PICO_PER_USD}, 'FM999,999,999,990.009999')`;

/**
 * Reports one finding per model, so that finance can acknowledge all its differences each month: lines without a record
 * and records without a line usually have one cause, such as other ids on the bill.
 */
export const BILL_CHECK = sqlCheck({
  name: 'vendor_bills',
  question: 'Does every bill of a vendor for an open month match the recorded cost of its renders and text requests?',
  remedy:
    'genway months bill MONTH VENDOR lists the lines. Ask the vendor, correct the cost of the route for later months, or acknowledge the finding.',
  sql: /* sql */ `
    WITH differences AS (
      SELECT bill.vendor, bill.month, model, difference, count(*) AS number, sum(billed) AS billed, sum(cost) AS cost,
        CASE WHEN count(job_id) = 0 THEN NULL WHEN count(*) = 1 THEN '1 job' ELSE format('%s jobs', count(*)) END AS jobs,
        coalesce(min(task_id), min(job_id), 'line ' || min(line)) AS first
      FROM vendor_bills AS bill, bill_differences(bill)
      WHERE bill.month > coalesce((SELECT max(closed.month) FROM closed_months AS closed), '-infinity')
      GROUP BY bill.vendor, bill.month, model, difference
    ), worded AS (
      SELECT vendor, month, model, difference, format('%s%s', CASE difference
        WHEN 'extra' THEN format('%sbilled without a record: %s', jobs || ' ', ${dollars('billed')})
        WHEN 'missing' THEN format('%snot billed: %s', jobs || ' ', ${dollars('cost')})
        ELSE format('%sbilled with another price: %s instead of %s', jobs || ' ', ${dollars('billed')}, ${dollars('cost')})
      END, ' (first: ' || first || ')') AS message
      FROM differences
    )
    SELECT format('%s %s %s', vendor, to_char(month, 'YYYY-MM'), model) AS subject,
      string_agg(message, '; ' ORDER BY difference) AS detail
    FROM worded GROUP BY vendor, month, model ORDER BY 1`,
});
