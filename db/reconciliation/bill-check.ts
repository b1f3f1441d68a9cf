/** Checks whether the bills of vendors agree with our records. */
import { PICO_PER_USD } from '../../domain/money.ts';
import { sqlCheck } from './check.ts';

/** Reports one finding per model and kind of difference, so that finance can acknowledge all each month. In USD. */
export const BILL_CHECK = sqlCheck({
  name: 'vendor_bills',
  question: 'Does every bill of a vendor for an open month match the recorded cost of its renders and text requests?',
  remedy:
    'genway months bill MONTH VENDOR lists the lines. Ask the vendor, correct the cost of the route for later months, or acknowledge the finding.',
  sql: /* sql */ `
    SELECT format('%s %s %s', bill.vendor, to_char(bill.month, 'YYYY-MM'), model) AS subject,
      format('%s %s: billed %s USD, cost %s USD, first %s', difference, count(*),
        trim_scale(coalesce(sum(billed), 0) / ${PICO_PER_USD}), trim_scale(coalesce(sum(cost), 0) / ${PICO_PER_USD}),
        coalesce(min(task_id), min(job_id), 'line ' || min(line), 'none')) AS detail
    FROM vendor_bills AS bill, bill_differences(bill)
    WHERE bill.month > coalesce((SELECT max(closed.month) FROM closed_months AS closed), '-infinity')
    GROUP BY bill.vendor, bill.month, model, difference ORDER BY 1, 2`,
});
