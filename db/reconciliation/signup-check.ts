/** Checks whether the signup credit of registrations agrees with the ledger. */
import { sqlCheck } from './check.ts';

export const SIGNUP_CHECK = sqlCheck({
  name: 'signup_credits',
  question:
    'Has every registration that was granted signup credit its transfer, and every such transfer its registration, so that a mailbox got credit once?',
  remedy:
    'The transfers are right. Compare the account with its registration, and adjust the account by the amount that was credited twice or not at all.',
  sql: /* sql */ `
    WITH given AS (
      -- An operator's own grants have no reference.
      SELECT id, account_id, amount, reference FROM transfers
      WHERE kind = 'signup_grant' AND reference LIKE 'signup:%'
    ), granted AS (
      SELECT *, 'signup:' || encode(normal_address_digest, 'hex') AS reference FROM signup_credits
      WHERE outcome = 'granted'
    )
    SELECT coalesce(granted.account_id, given.account_id) AS subject,
      format('%s credited by %s, %s granted to the registration', coalesce(given.amount, 0),
        coalesce(given.id, 'nothing'), coalesce(granted.amount, 0)) AS detail
    FROM given FULL JOIN granted ON granted.transfer_id = given.id
    WHERE (given.account_id, given.amount, given.reference)
        IS DISTINCT FROM (granted.account_id, granted.amount, granted.reference)
      -- Of months that were detached the transfers are gone.
      AND NOT (given.id IS NULL AND EXISTS (SELECT FROM carried_balances AS carried
        WHERE carried.account_id = granted.account_id
          AND carried.month >= date_trunc('month', granted.decided_at AT TIME ZONE 'UTC')::date))
    ORDER BY 1`,
});
