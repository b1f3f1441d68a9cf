/** Monthly plans: subscribing and changing them, and what their payments grant. */
import type { Plan } from '../../catalogue/site.ts';
import type { Database } from '../../db/database.ts';
import { withPartitions } from '../../db/partitions.ts';
import { lockPayments } from '../../db/queries/returned-payments.ts';
import {
  findCurrentPlan,
  findCustomer,
  findRunningSubscription,
  findSubscriptionPage,
  findSurplusSubscriptions,
  type PlanPeriod,
  recordPlanPeriod,
  replaceSubscriptionPage,
  storeSubscription,
  type Subscription,
} from '../../db/queries/plans.ts';
import { daysAfter } from '../../domain/day.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { PLANS } from '../../domain/policy.ts';
import { CardRefusedError } from '../../providers/checkout.ts';
import type { ProviderInvoice } from '../../providers/plan-billing.ts';
import { applyReturnOf, referenceOfPayment } from './credit-once.ts';
import { survivingAccount } from '../people/existing-account.ts';
import { billingPage, orUnavailable, requireCheckout, type CheckoutServices } from './checkout.ts';

export interface PlanServices extends CheckoutServices {
  readonly database: Database;
  readonly site: { readonly plans: readonly Plan[] };
}

/**
 * Applies what the provider knows about a subscription. A subscription beside another one that continues ends with its
 * paid period, so that its payment keeps its credit and is the last one.
 *
 * @returns null if the subscription is not for an account
 * @throws ServiceError `not_found` for an account that does not exist; `processing_unavailable`
 */
export async function applySubscription(services: PlanServices, id: string): Promise<Subscription | null> {
  const subscription = await readSubscription(services, id);
  if (subscription === null) return null;
  for (const surplus of await findSurplusSubscriptions(services.database, subscription.accountId)) {
    await endWithPeriod(services, surplus, true);
  }
  return subscription;
}

function readSubscription(services: PlanServices, id: string): Promise<Subscription | null> {
  const { database } = services;
  return storeSubscription(database, async () => {
    const read = await orUnavailable(requireCheckout(services).findSubscription(id));
    if (read === null || read.accountId === null) return null;
    // A page that an account opened before its merge may be paid after the merge.
    const { id: accountId } = await survivingAccount(database, read.accountId);
    return { ...read, accountId };
  });
}

async function endWithPeriod(services: PlanServices, id: string, ends: boolean): Promise<void> {
  await orUnavailable(requireCheckout(services).setEnding(id, ends));
  await readSubscription(services, id);
}

/**
 * Applies what the provider knows about an invoice: a paid one of an account's subscription starts a period of its plan, once.
 *
 * @returns the number of recorded periods; null if the invoice is not for an account
 * @throws ServiceError `not_found` for a price of no plan; `processing_unavailable`
 */
export async function applyInvoice(services: PlanServices, id: string): Promise<number | null> {
  const invoice = await orUnavailable(requireCheckout(services).findInvoice(id));
  if (invoice === null || invoice.subscriptionId === null) return null;
  const subscription = await applySubscription(services, invoice.subscriptionId);
  if (subscription === null) return null;
  return invoice.isPaid && (await recordPeriod(services, invoice, subscription)) ? 1 : 0;
}

/**
 * Records a period, unless it is recorded already. The credit of a payment that went back before ends at once.
 *
 * @returns whether the period was not recorded before
 */
async function recordPeriod(
  { database, site }: PlanServices,
  invoice: ProviderInvoice,
  { id: subscriptionId, accountId }: Subscription,
): Promise<boolean> {
  const [period] = invoice.periods;
  if (period === undefined) return false;
  const plan = site.plans.find(({ stripePrice }) => stripePrice === period.price);
  if (!plan) {
    throw new ServiceError(
      'not_found',
      `No plan has the price ${period.price}. Put the plan back into the file of the site: the provider announces the invoice again.`,
    );
  }
  const { paid } = invoice;
  if (paid === null)
    throw new ServiceError(
      'not_found',
      `The price ${period.price} is not in USD. Put a price in USD into the file of the site.`,
    );
  const { included, models, rateLimitRpm, seats } = plan;
  const payments = invoice.paymentIds.map(referenceOfPayment);
  const recorded: PlanPeriod = {
    invoiceId: invoice.id,
    subscriptionId,
    accountId,
    plan: plan.id,
    included: included * BigInt(period.quantity),
    models,
    rateLimitRpm,
    seats,
    invoicedAt: invoice.createdAt,
    startsAt: period.startsAt,
    endsAt: period.endsAt,
    limitsUntil: daysAfter(period.endsAt, PLANS.graceDays),
    paid,
    payments,
  };
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      if (payments.length > 0) await lockPayments(transaction, { accountId, references: payments });
      const isNew = await recordPlanPeriod(transaction, recorded);
      if (!isNew) return false;
      for (const payment of payments) await applyReturnOf(transaction, payment, null);
      return true;
    }),
  );
}

/**
 * Subscribes an account to a plan, or changes its plan: to a dearer one at once, with a new period; to a cheaper one with the
 * next period.
 *
 * @returns the id of the page on which to subscribe; null if the plan was changed
 * @throws ServiceError `not_found`; `insufficient_credits` if the card was refused; `processing_unavailable`
 */
export async function choosePlan(
  services: PlanServices,
  order: { readonly accountId: string; readonly planId: string },
): Promise<string | null> {
  const { database, site } = services;
  const { accountId, planId } = order;
  const plan = site.plans.find(({ id }) => id === planId);
  if (!plan) throw new ServiceError('not_found', 'There is no such plan. Open the billing page again.');
  const billing = requireCheckout(services);
  const earlier = await findSubscriptionPage(database, accountId);
  const running =
    (await findRunningSubscription(database, accountId)) ?? (await findSold(services, accountId, earlier));
  if (running === null) {
    const customer = await findCustomer(database, accountId);
    const returnUrl = billingPage(services, accountId);
    const page = await orUnavailable(
      billing.openSubscription({ accountId, price: plan.stripePrice, customer, returnUrl }),
    );
    // Nobody learns the id of a page that is not recorded.
    const isRecorded = await replaceSubscriptionPage(database, { accountId, earlier, page });
    return isRecorded ? page : choosePlan(services, order);
  }
  const { id, item } = running;
  if (running.price === plan.stripePrice) throw badRequest('The account has this plan already.');
  const current = await findCurrentPlan(database, accountId);
  const present = site.plans.find(({ id: name }) => name === current?.plan);
  // A plan that waits for the next period is not the one in force.
  const startsNow = current === null || (present !== undefined && plan.usdPerMonth > present.usdPerMonth);
  await orRefused(orUnavailable(billing.changePrice({ id, item, price: plan.stripePrice, startsNow })));
  await applySubscription(services, id);
  return null;
}

/** Expires the page on which an account could subscribe. @returns the running subscription if the page sold it before */
async function findSold(services: PlanServices, accountId: string, page: string | null): Promise<Subscription | null> {
  if (page === null) return null;
  const sold = await orUnavailable(requireCheckout(services).expireSubscriptionPage(page));
  if (sold === null) return null;
  await applySubscription(services, sold);
  return findRunningSubscription(services.database, accountId);
}

/** Ends the plan of an account with its period, or lets it go on. @throws ServiceError `not_found`, `processing_unavailable` */
export async function setPlanEnding(services: PlanServices, accountId: string, ends: boolean): Promise<void> {
  const running = await findRunningSubscription(services.database, accountId);
  if (running === null) throw new ServiceError('not_found', 'The account has no plan.');
  await endWithPeriod(services, running.id, ends);
}

/**
 * Opens the provider's page for the card and the invoices of an account's plan.
 *
 * @returns null if the account never had a plan
 * @throws ServiceError `processing_unavailable`
 */
export async function openPlanPayments(services: PlanServices, accountId: string): Promise<string | null> {
  const customer = await findCustomer(services.database, accountId);
  if (customer === null) return null;
  return orUnavailable(requireCheckout(services).openPortal({ customer, returnUrl: billingPage(services, accountId) }));
}

async function orRefused<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((error: unknown) => {
    if (!(error instanceof CardRefusedError)) throw error;
    throw new ServiceError(
      'insufficient_credits',
      `The card was refused, and the plan stays as it is: ${error.message}`,
    );
  });
}
