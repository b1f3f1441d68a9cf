/** Subscriptions at the payment provider, and the paid periods of plans. */
import { formatDollars, type PicoUsd } from '../../domain/money.ts';
import { type Database, onlyRow } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';
import { lockAccount } from './accounts.ts';
import { orderNotice } from './mails.ts';
import { findPromoGrant, grantPromoCredit, type PromoGrant } from './promo-grants.ts';
import { postAwaitedSignupCredit } from './signup-credits.ts';

/** A subscription as it was last read at the payment provider. */
export interface Subscription {
  readonly id: string;
  readonly accountId: string;
  readonly customer: string;
  /** The provider's word, such as `active` or `past_due`. */
  readonly status: string;
  /** The item of the subscription, whose price changes with the plan. */
  readonly item: string;
  /** The price of the next period. */
  readonly price: string;
  /** When the subscription ends or ended; null while it renews. */
  readonly endsAt: Date | null;
}

/** The terms of a plan in a paid period. */
export interface PlanTerms {
  readonly plan: string;
  readonly included: PicoUsd;
  readonly models: readonly string[] | null;
  readonly rateLimitRpm: number | null;
  readonly seats: number | null;
}

/** A paid period of a plan. */
export interface PlanPeriod extends PlanTerms {
  readonly invoiceId: string;
  readonly subscriptionId: string;
  readonly accountId: string;
  readonly invoicedAt: Date;
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** Until when the terms apply if no further period is paid. */
  readonly limitsUntil: Date;
  /** What the customer paid, with taxes. */
  readonly paid: PicoUsd;
  /** The references by which the returns of the payments are recorded; empty if nothing was charged. */
  readonly payments: readonly string[];
}

/** The reference of the promo credit that a paid invoice of a plan includes. */
export function referenceOfInvoice(invoiceId: string): string {
  return `invoice:${invoiceId}`;
}

/**
 * Reads a subscription at the payment provider and stores it. Readings are numbered before they start, and an earlier one
 * never replaces a later one: the reading that the last change caused started after the change, so the end is right whatever
 * the order in which changes were announced.
 *
 * @param read null if the subscription is not for an account
 */
export async function storeSubscription(
  database: Database,
  read: () => Promise<Subscription | null>,
): Promise<Subscription | null> {
  const { rows } = await database.raw<{ rows: { number: string }[] }>(
    `SELECT nextval('subscription_readings') AS number`,
  );
  const { number } = onlyRow(rows);
  const subscription = await read();
  if (subscription === null) return null;
  const columns = { ...columnsOf(subscription), reading: number };
  await database('subscriptions')
    .insert(columns)
    .onConflict('id')
    .merge({
      ...columns,
      // A subscription whose first payment came after a merge belongs to the other account; paid periods do not move.
      account_id: database.raw(
        `CASE WHEN EXISTS (SELECT FROM plan_periods WHERE subscription_id = subscriptions.id)
          THEN subscriptions.account_id ELSE excluded.account_id END`,
      ),
    })
    .whereRaw('subscriptions.reading < :number', { number });
  return subscription;
}

/**
 * Records a paid period, grants its credit and the signup credit that awaits the first payment, and orders its e-mail,
 * once for each invoice. The credit of a period that is over is not granted.
 *
 * @returns whether this call recorded the period
 */
export async function recordPlanPeriod(database: Database, period: PlanPeriod): Promise<boolean> {
  const { invoiceId, accountId, included: amount, endsAt: expiresAt, plan } = period;
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      if (await transaction('plan_periods').where({ invoice_id: invoiceId }).first('invoice_id')) return false;
      const { rows } = await transaction.raw<{ rows: { isOver: boolean }[] }>(
        `SELECT :expiresAt::timestamptz <= clock_timestamp() + interval '1 second' AS "isOver"`,
        { expiresAt },
      );
      const granted =
        amount === 0n || rows[0]?.isOver === true
          ? null
          : await grantPromoCredit(transaction, {
              accountId,
              amount,
              expiresAt,
              reference: referenceOfInvoice(invoiceId),
              author: 'payment provider',
              reason: `included in the plan ${plan}`,
              isPaid: true,
            });
      if (period.payments.length > 0) await postAwaitedSignupCredit(transaction, accountId);
      const earlier = await transaction('plan_periods')
        .where({ account_id: accountId })
        .where('invoiced_at', '<', period.invoicedAt)
        .orderBy('invoiced_at', 'desc')
        .first<{ plan: string } | undefined>('plan');
      await transaction('plan_periods').insert(columnsOf({ ...period, grantId: granted?.grant.id ?? null }));
      await orderNotice(transaction, {
        kind: 'plan_paid',
        accountId,
        reference: `plan_paid:${invoiceId}`,
        facts: {
          plan,
          renewed: earlier?.plan === plan ? 'yes' : '',
          paid: formatDollars(period.paid),
          credit: granted === null ? '' : formatDollars(amount),
          until: expiresAt.toISOString(),
        },
      });
      return true;
    }),
  );
}

/** The paid period whose terms apply now; null without a plan. */
export async function findCurrentPlan(database: Database, accountId: string): Promise<PlanPeriod | null> {
  const { rows } = await database.raw<{ rows: RowOf<PlanPeriod>[] }>('SELECT * FROM current_plan(:accountId, now())', {
    accountId,
  });
  const [row] = rows;
  return row ? readRow(row, { amounts: ['included', 'paid'] }) : null;
}

/** Conditions on a row of `subscriptions`, in SQL. A customer whose first payment failed subscribes anew. */
export const HAS_STARTED = `status NOT IN ('incomplete', 'incomplete_expired')`;
export const IS_RUNNING = `(ends_at IS NULL OR ends_at > now()) AND ${HAS_STARTED}`;
export const IS_UNPAID = `status NOT IN ('active', 'trialing')`;
/** The order in which the first subscription of an account is its plan: at most one continues, and the others end. */
export const PLAN_FIRST = `ends_at IS NULL DESC, created_at DESC`;

/** The subscription of an account that continues, or the newest that has not ended; null for none. */
export async function findRunningSubscription(database: Database, accountId: string): Promise<Subscription | null> {
  const row = await database<RowOf<Subscription>>('subscriptions')
    .where({ account_id: accountId })
    .whereRaw(IS_RUNNING)
    .orderByRaw(PLAN_FIRST)
    .first('id', 'account_id', 'customer', 'status', 'item', 'price', 'ends_at');
  return row ? readRow(row, {}) : null;
}

/**
 * The subscriptions of an account that continue beside its first one. Processes that store two subscriptions at once never
 * return both: the order of the rows does not change, and a process that finds only one row returns none.
 */
export async function findSurplusSubscriptions(database: Database, accountId: string): Promise<readonly string[]> {
  const [, ...surplus] = await database<RowOf<Subscription>>('subscriptions')
    .where({ account_id: accountId, ends_at: null })
    .whereRaw(HAS_STARTED)
    .orderBy(['created_at', 'id'])
    .select('id');
  return surplus.map(({ id }) => id);
}

/** The latest page on which an account could subscribe; null for none. */
export async function findSubscriptionPage(database: Database, accountId: string): Promise<string | null> {
  const row = await database('subscription_pages')
    .where({ account_id: accountId })
    .first<{ page: string } | undefined>('page');
  return row?.page ?? null;
}

/**
 * Records the page on which an account can subscribe, in the place of the earlier one.
 *
 * @returns false if another page took the place of the earlier one first
 */
export async function replaceSubscriptionPage(
  database: Database,
  { accountId, earlier, page }: { readonly accountId: string; readonly earlier: string | null; readonly page: string },
): Promise<boolean> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    INSERT INTO subscription_pages (account_id, page) VALUES (:accountId, :page)
    ON CONFLICT (account_id) DO UPDATE SET page = excluded.page WHERE subscription_pages.page = :earlier`,
    { accountId, earlier, page },
  );
  return rowCount > 0;
}

/** The plan of an account: the terms that apply now, what is left of their credit, and the subscription that continues. */
export interface AccountPlan {
  readonly accountId: string;
  readonly period: PlanPeriod | null;
  /** The credit of the period that can be spent, and until when; null if none was granted. */
  readonly credit: Pick<PromoGrant, 'available' | 'expiresAt'> | null;
  readonly subscription: Subscription | null;
}

export async function findAccountPlan(database: Database, accountId: string): Promise<AccountPlan> {
  const [period, subscription] = await Promise.all([
    findCurrentPlan(database, accountId),
    findRunningSubscription(database, accountId),
  ]);
  const credit =
    period && (await findPromoGrant(database, { accountId, reference: referenceOfInvoice(period.invoiceId) }));
  return { accountId, period, credit, subscription };
}

/** The provider's name for the customer of an account, by which a new subscription finds saved cards; null for none. */
export async function findCustomer(database: Database, accountId: string): Promise<string | null> {
  const row = await database<RowOf<Subscription>>('subscriptions')
    .where({ account_id: accountId })
    .orderBy('created_at', 'desc')
    .first('customer');
  return row?.customer ?? null;
}
