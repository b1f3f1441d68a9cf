/** Orders the notices whose causes are states of the database. Events order theirs in their own transactions. */
import type { AccountNotice } from '../../domain/mail.ts';
import { NOTICE_TIMES } from '../../domain/policy.ts';
import type { Database } from '../database.ts';
import { orderNotices } from './mails.ts';
import { IS_UNPAID } from './plans.ts';

/** The latest paid period of each subscription that is not paid any more, or ends. */
const LAST_PERIODS = /* sql */ `
    FROM subscriptions AS subscription CROSS JOIN LATERAL (
      SELECT * FROM plan_periods WHERE account_id = subscription.account_id AND subscription_id = subscription.id
      ORDER BY invoiced_at DESC, invoice_id DESC LIMIT 1) AS period
    JOIN accounts ON accounts.id = subscription.account_id`;

/** Statements that return the accounts to notify, with the facts of the e-mail and a reference of the cause. */
const CAUSES: readonly (readonly [kind: AccountNotice, causes: string])[] = [
  [
    'top_up_failed',
    /* sql */ `
    SELECT account_id, 'top_up_failed:' || account_id || ':' || extract(epoch FROM attempt_began_at) AS reference,
      jsonb_build_object('account', name, 'reason', stopped_because) AS facts
    FROM auto_top_ups JOIN accounts ON accounts.id = account_id
    WHERE stopped_because IS NOT NULL AND attempt_began_at > now() - interval '2 days'`,
  ],
  [
    'month_statement',
    /* sql */ `
    SELECT owned.account_id, 'month_statement:' || month || ':' || owned.account_id AS reference,
      jsonb_build_object('account', accounts.name, 'month', to_char(month, 'YYYY-MM')) AS facts
    FROM closed_months CROSS JOIN (SELECT DISTINCT account_id FROM account_members) AS owned
    JOIN accounts ON accounts.id = owned.account_id
    WHERE closed_months.closed_at > now() - interval '1 day'
      AND (SELECT before FROM daily_usage_summed) >= (month + interval '1 month') AT TIME ZONE 'UTC'
      AND EXISTS (SELECT FROM daily_transfers AS moved WHERE moved.account_id = owned.account_id
        AND moved.day >= month AND moved.day < month + interval '1 month')`,
  ],
  [
    'plan_payment_failed',
    /* sql */ `
    SELECT accounts.id AS account_id, 'plan_payment_failed:' || period.invoice_id AS reference,
      jsonb_build_object('account', name, 'plan', period.plan, 'until', period.limits_until) AS facts
    ${LAST_PERIODS}
    WHERE ${IS_UNPAID} AND subscription.ends_at IS NULL AND period.limits_until > now()`,
  ],
  [
    'plan_ending',
    /* sql */ `
    SELECT accounts.id AS account_id,
      'plan_ending:' || subscription.id || ':' || extract(epoch FROM subscription.ends_at) AS reference,
      jsonb_build_object('account', name, 'plan', period.plan, 'until', subscription.ends_at) AS facts
    ${LAST_PERIODS}
    WHERE subscription.ends_at > now()`,
  ],
  [
    'plan_ended',
    /* sql */ `
    SELECT accounts.id AS account_id, 'plan_ended:' || period.invoice_id AS reference,
      jsonb_build_object('account', name, 'plan', period.plan) AS facts
    ${LAST_PERIODS}
    CROSS JOIN LATERAL (SELECT least(subscription.ends_at, CASE WHEN ${IS_UNPAID} THEN period.limits_until END) AS at) AS ended
    WHERE ended.at <= now() AND ended.at > now() - interval '2 days'`,
  ],
  [
    'key_expiring',
    /* sql */ `
    SELECT account_id, 'key_expiring:' || id || ':' || extract(epoch FROM expires_at) AS reference,
      jsonb_build_object('key', id, 'name', name, 'hint', hint, 'at', expires_at) AS facts
    FROM api_keys
    WHERE expires_at > now() AND expires_at < now() + interval '${NOTICE_TIMES.keyExpiryDays} days'
      -- A key with a shorter life was made to expire.
      AND created_at < expires_at - interval '${NOTICE_TIMES.keyExpiryDays} days'
      AND disabled_at IS NULL AND deleted_at IS NULL`,
  ],
  [
    'key_limit_near',
    /* sql */ `
    SELECT account_id, concat_ws(':', 'key_limit_near', id, usage_limit, period_since) AS reference,
      jsonb_build_object('key', id, 'name', name, 'hint', hint) AS facts
    FROM api_keys
    WHERE usage_limit > 0 AND last_used_at > now() - interval '1 hour'
      AND used_in_period(api_keys, now()) >= usage_limit * ${NOTICE_TIMES.keyLimitPercent} / 100
      AND disabled_at IS NULL AND deleted_at IS NULL`,
  ],
  [
    'webhook_failing',
    /* sql */ `
    SELECT account_id, 'webhook_failing:' || id || ':' || extract(epoch FROM failing_since) AS reference,
      jsonb_build_object('endpoint', id, 'url', url, 'at', failing_since) AS facts
    FROM webhook_endpoints
    WHERE failing_since < now() - interval '${NOTICE_TIMES.failingHours} hours'
      AND disabled_at IS NULL AND deleted_at IS NULL`,
  ],
  [
    'webhook_disabled',
    /* sql */ `
    SELECT account_id, 'webhook_disabled:' || id || ':' || extract(epoch FROM disabled_at) AS reference,
      jsonb_build_object('endpoint', id, 'url', url, 'reason', disabled_reason) AS facts
    FROM webhook_endpoints
    WHERE disabled_at > now() - interval '1 day' AND failing_since IS NOT NULL AND deleted_at IS NULL
      AND disabled_reason <> 'disabled by its owner'`,
  ],
];

/**
 * Orders the e-mails that are due, each once.
 *
 * @param limit the most e-mails of a kind
 * @returns the largest number of a kind; fewer than `limit` if none is left
 */
export async function orderDueNotices(database: Database, limit: number): Promise<number> {
  const counts: number[] = [];
  for (const [kind, causes] of CAUSES) counts.push(await orderNotices(database, kind, { causes, limit }));
  return Math.max(...counts);
}
