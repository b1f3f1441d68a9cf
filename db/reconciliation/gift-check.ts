/** Checks whether gift codes agree with the credit that they gave. */
import { sqlCheck } from './check.ts';

export const GIFT_CHECK = sqlCheck({
  name: 'gift_codes',
  question:
    'Has every batch all its codes, every redeemed code its credit once, and every gift its redeemed code, so that the sums of the batches add up?',
  remedy:
    'The transfers and the grants of promo credit are right. Compare the batch with them, and adjust the account by the amount that was credited twice or not at all.',
  sql: /* sql */ `
    WITH given AS (
      SELECT id, account_id, amount, reference FROM transfers WHERE kind = 'gift'
      UNION ALL
      SELECT id, account_id, amount, reference FROM promo_grants WHERE reference LIKE 'gift\\_%'
    ), redeemed AS (
      SELECT code.*, batch.amount FROM gift_codes AS code JOIN gift_batches AS batch ON batch.id = code.batch_id
      WHERE code.redeemed_at IS NOT NULL
        -- Of months that were detached the transfers are gone.
        AND NOT (batch.kind = 'funds' AND EXISTS (SELECT FROM carried_balances AS carried
          WHERE carried.account_id = code.account_id
            AND carried.month = date_trunc('month', code.redeemed_at AT TIME ZONE 'UTC')::date))
    )
    SELECT coalesce(redeemed.id, given.reference) AS subject,
      format('%s credited to %s by %s, %s redeemed by %s', coalesce(given.amount, 0), coalesce(given.account_id, 'nobody'),
        coalesce(given.id, 'nothing'), coalesce(redeemed.amount, 0), coalesce(redeemed.account_id, 'nobody')) AS detail
    FROM given FULL JOIN redeemed ON redeemed.credit_id = given.id
    WHERE (given.account_id, given.amount, given.reference)
      IS DISTINCT FROM (redeemed.account_id, redeemed.amount, redeemed.id)
    UNION ALL
    SELECT batch.id, format('%s codes were issued, but %s are there', batch.codes, count(code.id))
    FROM gift_batches AS batch LEFT JOIN gift_codes AS code ON code.batch_id = batch.id
    GROUP BY batch.id HAVING batch.codes <> count(code.id)
    ORDER BY 1`,
});
