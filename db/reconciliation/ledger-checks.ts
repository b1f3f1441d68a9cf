/** Checks whether the ledger, the balances and the tasks agree. */
import { CHANGE, CHARGES, balanceSign } from '../ledger-sql.ts';
import { sqlCheck } from './check.ts';

/** How long storing a result may continue after the deadline. */
const TASK_GRACE = `interval '15 minutes'`;

export const LEDGER_CHECKS = [
  sqlCheck({
    name: 'account_balances',
    question: 'Does every balance equal the sum of its transfers, including the sums of detached months?',
    remedy:
      'The transfers are right. Find the statement that bypassed the triggers of accounts or transfers, and set the balance to the sum.',
    sql: /* sql */ `
      WITH signed AS (
        SELECT *, amount - signup_amount AS funded_amount,
          ${balanceSign('available')} AS to_available, ${balanceSign('reserved')} AS to_reserved
        FROM transfers
      ), movements AS (
        SELECT account_id,
          to_available * signup_amount AS signup_available,
          to_reserved * signup_amount AS signup_reserved,
          to_available * funded_amount AS funded_available,
          to_reserved * funded_amount AS funded_reserved
        FROM signed
        UNION ALL
        SELECT account_id, signup_available, signup_reserved, funded_available, funded_reserved FROM carried_balances
      ), sums AS (
        SELECT account_id, sum(signup_available) AS signup_available, sum(signup_reserved) AS signup_reserved,
          sum(funded_available) AS funded_available, sum(funded_reserved) AS funded_reserved
        FROM movements GROUP BY account_id
      )
      SELECT coalesce(accounts.id, sums.account_id) AS subject,
        string_agg(format('%s is %s, its transfers add up to %s', balance.name, coalesce(balance.kept::text, 'missing'),
          coalesce(balance.summed, 0)), '; ' ORDER BY balance.name) AS detail
      FROM accounts FULL JOIN sums ON sums.account_id = accounts.id,
        LATERAL (VALUES
          ('signup_available', accounts.signup_available, sums.signup_available),
          ('signup_reserved', accounts.signup_reserved, sums.signup_reserved),
          ('funded_available', accounts.funded_available, sums.funded_available),
          ('funded_reserved', accounts.funded_reserved, sums.funded_reserved)) AS balance(name, kept, summed)
      WHERE balance.kept IS DISTINCT FROM coalesce(balance.summed, 0)
      GROUP BY 1 ORDER BY 1`,
  }),
  sqlCheck({
    name: 'topped_up',
    question:
      'Is an account marked as topped up exactly if it has a top-up or a gift of funds, paid for a plan, or got the money of such an account by a merge?',
    remedy:
      'The top-ups, gifts and credit of plans are right. Set topped_up_at to the time of the first one, or to NULL where there is none.',
    sql: /* sql */ `
      SELECT id AS subject, format('topped_up_at is %s, but the account %s', coalesce(topped_up_at::text, 'not set'),
        CASE WHEN topped_up_at IS NULL THEN 'has topped up' ELSE 'has no top-up' END) AS detail
      FROM accounts
      WHERE (topped_up_at IS NULL OR NOT EXISTS (SELECT 1 FROM accounts AS merged
          WHERE merged.merged_into = accounts.id AND merged.topped_up_at IS NOT NULL))
        AND (topped_up_at IS NULL) = (EXISTS (SELECT 1 FROM top_ups WHERE account_id = accounts.id)
        OR EXISTS (SELECT 1 FROM gift_codes AS code JOIN gift_batches AS batch ON batch.id = code.batch_id
          WHERE code.account_id = accounts.id AND batch.kind = 'funds')
        OR EXISTS (SELECT 1 FROM promo_grants WHERE account_id = accounts.id AND is_paid)) ORDER BY 1`,
  }),
  sqlCheck({
    name: 'account_merges',
    question: 'Did every merge give one account what it took from the other, and leave nothing behind?',
    remedy:
      'The transfers that took money are right. Adjust the other account by the difference. For money left behind, read in the logs of the api processes why their relays cannot move it.',
    sql: /* sql */ `
      SELECT coalesce(taken.account_id, given.reference) AS subject,
        format('moved %s to %s, which got %s', coalesce(taken.amount, 0), coalesce(taken.reference, given.account_id),
          coalesce(given.amount, 0)) AS detail
      FROM (SELECT account_id, reference, sum(amount) AS amount, sum(signup_amount) AS signup_amount FROM transfers
        WHERE kind = 'merge_out' GROUP BY 1, 2) AS taken
      FULL JOIN (SELECT account_id, reference, sum(amount) AS amount, sum(signup_amount) AS signup_amount FROM transfers
        WHERE kind = 'merge_in' GROUP BY 1, 2) AS given
        ON given.account_id = taken.reference AND given.reference = taken.account_id
      WHERE (taken.amount, taken.signup_amount) IS DISTINCT FROM (given.amount, given.signup_amount)
      UNION ALL
      SELECT source_id, format('merged %s, and has %s to spend', to_json(completed_at) #>> '{}',
        signup_available + funded_available)
      FROM account_merges AS merge JOIN accounts AS source ON source.id = source_id
      WHERE completed_at < now() - interval '15 minutes' AND signup_available + funded_available > 0
        AND NOT EXISTS (SELECT FROM transfers
          WHERE account_id = source_id AND created_at >= now() - interval '15 minutes')
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'key_usage',
    question: 'Do the used and reserved amounts of every key equal the sums of its transfers?',
    remedy: 'The transfers are right. Set the used and reserved amounts of the key to the sums.',
    sql: /* sql */ `
      WITH movements AS (
        SELECT api_key_id, ${CHANGE.reserved} + CASE WHEN kind IN ${CHARGES} THEN amount ELSE 0 END AS used,
          ${CHANGE.reserved} AS reserved
        FROM transfers WHERE api_key_id IS NOT NULL
        UNION ALL
        SELECT api_key_id, used, reserved FROM carried_usage
      ), sums AS (
        SELECT api_key_id, sum(used) AS used, sum(reserved) AS reserved FROM movements GROUP BY api_key_id
      )
      SELECT coalesce(api_keys.id, sums.api_key_id) AS subject,
        string_agg(format('%s is %s, its transfers add up to %s', amount.name, coalesce(amount.kept::text, 'missing'),
          coalesce(amount.summed, 0)), '; ') AS detail
      FROM api_keys FULL JOIN sums ON sums.api_key_id = api_keys.id,
        LATERAL (VALUES ('used', api_keys.used, sums.used), ('reserved', api_keys.reserved, sums.reserved))
          AS amount(name, kept, summed)
      WHERE amount.kept IS DISTINCT FROM coalesce(amount.summed, 0) GROUP BY 1 ORDER BY 1`,
  }),
  sqlCheck({
    name: 'top_ups',
    question: 'Has every top-up a reference of its own, and every reference its top-up?',
    remedy:
      'Ask the payment service about the reference. Adjust the account by the amount that was credited twice or not at all.',
    sql: /* sql */ `
      SELECT coalesce(transfers.id, top_ups.transfer_id) AS subject,
        format('reference %s: %s credited, %s noted', coalesce(top_ups.reference, transfers.reference),
          coalesce(transfers.amount, 0), coalesce(top_ups.amount, 0)) AS detail
      FROM (SELECT * FROM transfers WHERE kind = 'topup') AS transfers
      FULL JOIN (
        -- Of months that were detached the transfers are gone, and what they added up to is carried.
        SELECT * FROM top_ups WHERE NOT EXISTS (SELECT 1 FROM carried_balances AS carried
          WHERE carried.account_id = top_ups.account_id
            AND carried.month = date_trunc('month', top_ups.created_at AT TIME ZONE 'UTC')::date)
      ) AS top_ups ON top_ups.transfer_id = transfers.id
      WHERE (transfers.account_id, transfers.reference, transfers.amount)
        IS DISTINCT FROM (top_ups.account_id, top_ups.reference, top_ups.amount) ORDER BY 1`,
  }),
  sqlCheck({
    name: 'payments',
    question: 'Was every payment credited as the payment provider announced it?',
    remedy:
      'The payment was also credited by hand. Check the payment at the payment provider, adjust both accounts by the difference, and acknowledge the finding.',
    sql: /* sql */ `
      SELECT top_ups.transfer_id AS subject,
        format('%s was announced with %s for %s, but credited with %s to %s', reference, announced.amount,
          announced.account_id, top_ups.amount, top_ups.account_id) AS detail
      FROM contradicted_payments AS announced JOIN top_ups USING (reference) ORDER BY 1, 2`,
  }),
  sqlCheck({
    name: 'returned_payments',
    question: 'Was every payment that returned to its payer debited from its account?',
    remedy:
      'The account had spent the money. Genway debits the rest as soon as the account has funded credit again, such as by a refund. Claim the money from the customer, or credit the account with a correction, which pays the rest at once. Or acknowledge the finding.',
    sql: /* sql */ `
      SELECT transfer_id AS subject, format('%s: %s returned, %s taken back', reference, least(returned, amount), taken) AS detail
      FROM top_ups JOIN (SELECT reference, taken, returned_amount(returned_payments) AS returned FROM returned_payments) AS back USING (reference)
      WHERE taken <> least(returned, amount)
      UNION ALL
      SELECT id, format('owes %s, and its returned payments lack %s', debt, coalesce(owed.amount, 0)) FROM accounts
      LEFT JOIN (SELECT account_id, sum(due - taken) AS amount FROM returned_payments GROUP BY 1) AS owed
        ON owed.account_id = accounts.id
      WHERE debt <> coalesce(owed.amount, 0)
      UNION ALL
      SELECT id, format('owes %s, and has %s to spend', debt, funded_available) FROM accounts
      WHERE debt > 0 AND funded_available > 0
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'resolutions',
    question: 'Does every settlement and refund resolve a reservation, wholly, and each reservation at most once?',
    remedy: 'Compare the chain with the history of the task. Adjust the account by the difference.',
    sql: /* sql */ `
      SELECT resolution.id AS subject,
        CASE
          WHEN held.id IS NULL THEN format('its reservation %s is missing', resolution.pending_id)
          WHEN held.amount <> resolution.amount THEN
            format('%s is resolved, but the reservation %s is of %s', resolution.amount, held.id, held.amount)
          WHEN held.signup_amount <> resolution.signup_amount THEN
            format('%s of signup credit is resolved, but the reservation %s took %s of it',
              resolution.signup_amount, held.id, held.signup_amount)
          ELSE format('its reservation %s is of another account, key or task', held.id)
        END AS detail
      FROM transfers AS resolution
      LEFT JOIN transfers AS held ON held.id = resolution.pending_id AND held.opened_at = resolution.opened_at
        AND held.kind = 'reservation'
      WHERE resolution.pending_id IS NOT NULL
        AND (held.amount, held.signup_amount, held.account_id, held.api_key_id, held.task_id)
          IS DISTINCT FROM (resolution.amount, resolution.signup_amount, resolution.account_id, resolution.api_key_id,
            resolution.task_id)
      UNION ALL
      SELECT pending_id, format('%s transfers resolve it', count(*)) FROM transfers
      WHERE pending_id IS NOT NULL GROUP BY pending_id HAVING count(*) > 1
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'task_transfers',
    question: 'Does the task of every transfer exist?',
    remedy:
      'Restore the row of the task from a backup. If the task cannot be restored, adjust the account by the held amount.',
    sql: /* sql */ `
      SELECT task_id AS subject, format('%s of %s, but there is no such task', string_agg(kind, ' and ' ORDER BY kind),
        sum(amount)) AS detail
      FROM transfers
      WHERE task_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = transfers.task_id AND created_at = transfers.opened_at)
      GROUP BY task_id ORDER BY 1`,
  }),
  sqlCheck({
    name: 'task_resolutions',
    question: 'Has every final task exactly one resolution, a settlement if it succeeded and a refund if it failed?',
    remedy: 'Read the history of the task in Temporal, and adjust the account by the correct cost of the task.',
    sql: /* sql */ `
      SELECT tasks.id AS subject,
        format('the task is %s, resolved by %s', status, coalesce(string_agg(transfers.kind, ' and '), 'nothing')) AS detail
      FROM tasks LEFT JOIN transfers
        ON transfers.task_id = tasks.id AND transfers.opened_at = tasks.created_at AND transfers.pending_id IS NOT NULL
      GROUP BY tasks.id, tasks.created_at, status, resolution_id
      HAVING coalesce(array_agg(transfers.kind) FILTER (WHERE transfers.id IS NOT NULL), '{}') IS DISTINCT FROM
          CASE status WHEN 'succeeded' THEN ARRAY['settlement'] WHEN 'failed' THEN ARRAY['refund'] ELSE '{}'::text[] END
        OR resolution_id IS DISTINCT FROM max(transfers.id)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'task_amounts',
    question: 'Does the price of every task equal its reservation, and the refund of a failed task the whole price?',
    remedy: 'Adjust the account by the difference.',
    sql: /* sql */ `
      SELECT tasks.id AS subject,
        format('priced at %s, reserved %s%s%s', price, coalesce(held.amount::text, 'nothing'),
          CASE WHEN held.account_id <> tasks.account_id THEN ' by another account' ELSE '' END,
          CASE WHEN status = 'failed' THEN format(', refunded %s', coalesce(refund.amount::text, 'nothing')) ELSE '' END)
          AS detail
      FROM tasks
      LEFT JOIN transfers AS held ON held.id = tasks.reservation_id AND held.opened_at = tasks.created_at
        AND held.task_id = tasks.id AND held.kind = 'reservation'
      LEFT JOIN transfers AS refund ON refund.task_id = tasks.id AND refund.opened_at = tasks.created_at
        AND refund.kind = 'refund'
      WHERE (held.amount, held.account_id, held.api_key_id) IS DISTINCT FROM (price, tasks.account_id, tasks.api_key_id)
        OR (status = 'failed' AND refund.amount IS DISTINCT FROM held.amount)
      ORDER BY 1`,
  }),
  sqlCheck({
    name: 'overdue_tasks',
    question: 'Has every task ended by its deadline?',
    remedy: 'Look at the workflow of the task. If the workflow is missing, cancel the task, which refunds it.',
    sql: /* sql */ `
      SELECT id AS subject, format('still %s, its deadline was %s', status, to_json(deadline_at) #>> '{}') AS detail
      FROM tasks WHERE status IN ('queued', 'processing') AND deadline_at + ${TASK_GRACE} < now() ORDER BY 1`,
  }),
  sqlCheck({
    name: 'closed_months',
    question: 'Is the ledger of every closed month unchanged since the month was closed?',
    remedy:
      'A statement bypassed the rules of the database. Compare the month with the export that was made when it was closed.',
    sql: /* sql */ `
      SELECT to_char(closed.month, 'YYYY-MM') AS subject,
        format('closed with %s transfers (%s), now %s (%s)', closed.transfers, closed.amounts, ledger.transfers,
          CASE WHEN ledger.amounts = closed.amounts THEN 'the same amounts' ELSE ledger.amounts::text END) AS detail
      FROM closed_months AS closed, ledger_of_month(closed.month) AS ledger
      WHERE (closed.transfers, closed.amounts, closed.checksum) <> (ledger.transfers, ledger.amounts, ledger.checksum)
        -- Of a month that was detached, or whose chains began in one that was, nothing can be compared any more.
        AND NOT EXISTS (SELECT FROM carried_balances AS carried
          WHERE carried.month BETWEEN closed.month - interval '1 month' AND closed.month)
      ORDER BY 1`,
  }),
];
