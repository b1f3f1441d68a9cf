/** The accounts that subscribe to a plan, and those that did. */
import type { PicoUsd } from '../../domain/money.ts';
import type { PlanState } from '../../domain/plan-state.ts';
import type { Database } from '../database.ts';
import type { IdPage } from '../page.ts';
import { readRow, type RowOf } from '../row.ts';
import { HAS_STARTED, IS_UNPAID, PLAN_FIRST } from './plans.ts';

/** An account with the subscription that continues or its latest one, the latest paid period, and sums of all periods. */
export interface PlanSubscriber {
  /** The account. */
  readonly id: string;
  readonly state: PlanState;
  readonly subscriptionId: string;
  /** The provider's word, such as `active` or `past_due`. */
  readonly status: string;
  /** When the account first subscribed. */
  readonly since: Date;
  /** When the subscription ends or ended; null while it renews. */
  readonly endsAt: Date | null;
  /** The plan of the latest paid period; null, like the next two, without one. */
  readonly plan: string | null;
  readonly periodEndsAt: Date | null;
  readonly limitsUntil: Date | null;
  /** What the customer paid, with taxes. */
  readonly paid: PicoUsd;
  /** What went back to the payer, by refunds and disputes. */
  readonly returned: PicoUsd;
  /** The included credit that was spent, and whose payment went back. */
  readonly lost: PicoUsd;
}

export interface SubscriberFilter {
  readonly state?: PlanState | undefined;
  readonly plan?: string | undefined;
}

/** Lists accounts, the newest account first. A subscription whose first payment failed makes no subscriber. */
export async function listPlanSubscribers(
  database: Database,
  { before, limit, state, plan }: IdPage & SubscriberFilter,
): Promise<readonly PlanSubscriber[]> {
  const { rows } = await database.raw<{ rows: RowOf<PlanSubscriber>[] }>(
    /* sql */ `
    SELECT subscriber.id, subscriber.state, subscriber.subscription_id, subscriber.status, subscriber.ends_at,
      first.since, period.plan, period.ends_at AS period_ends_at, period.limits_until, sums.paid, sums.returned, sums.lost
    FROM (
      SELECT DISTINCT ON (account_id) account_id AS id, id AS subscription_id, status, ends_at,
        CASE WHEN ends_at <= now() OR status = 'canceled' THEN 'ended'
          WHEN ${IS_UNPAID} THEN 'overdue'
          WHEN ends_at IS NOT NULL THEN 'ending' ELSE 'active' END AS state
      FROM subscriptions
      WHERE ${HAS_STARTED} AND (:before::text IS NULL OR account_id < :before)
      ORDER BY account_id DESC, ${PLAN_FIRST}) AS subscriber
    CROSS JOIN LATERAL (
      SELECT min(created_at) AS since FROM subscriptions WHERE account_id = subscriber.id) AS first
    LEFT JOIN LATERAL (
      SELECT plan, ends_at, limits_until FROM plan_periods WHERE account_id = subscriber.id
      ORDER BY invoiced_at DESC, invoice_id DESC LIMIT 1) AS period ON true
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(paid), 0) AS paid, coalesce(sum(returned), 0) AS returned,
        coalesce(sum(greatest(spent - (paid - returned), 0)) FILTER (WHERE returned > 0), 0) AS lost
      FROM (
        SELECT plan_periods.paid, coalesce(promo.spent, 0) AS spent,
          least(plan_periods.paid, (SELECT coalesce(sum(returned_amount(back)), 0) FROM returned_payments AS back
            WHERE back.reference = ANY (payments))) AS returned
        FROM plan_periods LEFT JOIN promo_grants AS promo ON promo.id = grant_id
        WHERE plan_periods.account_id = subscriber.id) AS each) AS sums
    WHERE (:state::text IS NULL OR subscriber.state = :state) AND (:plan::text IS NULL OR period.plan = :plan)
    ORDER BY subscriber.id DESC LIMIT :limit`,
    { before: before ?? null, limit, state: state ?? null, plan: plan ?? null },
  );
  return rows.map((row) => readRow(row, { amounts: ['paid', 'returned', 'lost'] }));
}
