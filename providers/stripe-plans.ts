/** Subscriptions and their invoices at Stripe: https://docs.stripe.com/api/subscriptions */
import type { default as Stripe } from 'stripe';
import type { PlanBilling, ProviderInvoice, ProviderSubscription } from './plan-billing.ts';
import { PICO_PER_CENT } from '../domain/money.ts';
import { found, idOf, refusalOf, rethrowAsUnavailable } from './stripe-errors.ts';

/** More lines than a subscription with one item has on an invoice. */
const MAX_LINES = 100;

const ENDS_WITH_PERIOD = { cancel_at_period_end: true } as const;
/** A new period is paid at once, or nothing changes. */
const STARTS_NOW = { billing_cycle_anchor: { type: 'now' }, payment_behavior: 'error_if_incomplete' } as const;

export function plansOf(stripe: Stripe): PlanBilling {
  return {
    async openSubscription({ accountId, price, customer, returnUrl }) {
      const metadata = { account_id: accountId };
      const { id } = await rethrowAsUnavailable(
        stripe.checkout.sessions.create({
          mode: 'subscription',
          line_items: [{ price, quantity: 1 }],
          metadata,
          // Events of the subscription and of its invoices name no page.
          subscription_data: { metadata },
          ...(customer !== null && { customer }),
          success_url: returnUrl,
          cancel_url: returnUrl,
        }),
      );
      return id;
    },
    async expireSubscriptionPage(page) {
      const { sessions } = stripe.checkout;
      // Stripe refuses to expire a page that is paid or expired: https://docs.stripe.com/api/checkout/sessions/expire
      const session = (await found(sessions.expire(page))) ?? (await found(sessions.retrieve(page)));
      return idOf(session?.subscription);
    },
    async findSubscription(id) {
      const subscription = await found(stripe.subscriptions.retrieve(id));
      return subscription && toSubscription(subscription);
    },
    async findInvoice(id) {
      const invoice = await found(stripe.invoices.retrieve(id, { expand: ['payments'] }));
      if (invoice?.status !== 'paid') return invoice && toInvoice(invoice, []);
      const lines = await found(stripe.invoices.listLineItems(id, { limit: MAX_LINES }));
      return toInvoice(invoice, lines?.data ?? []);
    },
    async changePrice({ id, item, price, startsNow }) {
      const renewed = await rethrowAsUnavailable(renewal(stripe, id));
      const change = stripe.subscriptions.update(id, {
        items: [{ id: item, price }],
        ...renewed,
        // Each period is paid and granted as a whole.
        proration_behavior: 'none',
        ...(startsNow ? STARTS_NOW : {}),
      });
      await rethrowAsUnavailable(
        change.catch((error: unknown) => {
          throw refusalOf(error) ?? error;
        }),
      );
    },
    async openPortal({ customer, returnUrl }) {
      const portal = stripe.billingPortal.sessions.create({ customer, return_url: returnUrl });
      return (await rethrowAsUnavailable(portal)).url;
    },
    async setEnding(id, ends) {
      const change = ends ? ENDS_WITH_PERIOD : await rethrowAsUnavailable(renewal(stripe, id));
      await rethrowAsUnavailable(stripe.subscriptions.update(id, change));
    },
  };
}

/** Stripe's portal ends some subscriptions by a date alone, and Stripe takes only one of the two parameters. */
async function renewal(stripe: Stripe, id: string) {
  const { cancel_at, cancel_at_period_end: endsWithPeriod } = await stripe.subscriptions.retrieve(id);
  return cancel_at === null || endsWithPeriod ? ({ cancel_at_period_end: false } as const) : { cancel_at: '' as const };
}

/** The end of a subscription may have a date, or be that of its period: https://docs.stripe.com/billing/subscriptions/billing-mode/compare */
function toSubscription(subscription: Stripe.Subscription): ProviderSubscription | null {
  const { id, status, metadata, items, ended_at, cancel_at, cancel_at_period_end: endsWithPeriod } = subscription;
  const [item] = items.data;
  const customer = idOf(subscription.customer);
  if (!item || customer === null) return null;
  const ending = ended_at ?? cancel_at ?? (endsWithPeriod ? item.current_period_end : null);
  return {
    id,
    accountId: metadata['account_id'] ?? null,
    customer,
    status,
    item: item.id,
    price: item.price.id,
    endsAt: ending === null ? null : timeOf(ending),
  };
}

function toInvoice(
  { id, status, created, parent, amount_paid: cents, currency, payments }: Stripe.Invoice,
  lines: readonly Stripe.InvoiceLineItem[],
): ProviderInvoice {
  return {
    id,
    subscriptionId: idOf(parent?.subscription_details?.subscription),
    isPaid: status === 'paid',
    createdAt: timeOf(created),
    paid: currency === 'usd' ? BigInt(cents) * PICO_PER_CENT : null,
    paymentIds: (payments?.data ?? [])
      .filter((payment) => payment.status === 'paid')
      .flatMap(({ payment }) => idOf(payment.payment_intent) ?? []),
    periods: lines.flatMap(({ parent: source, pricing, period, quantity }) => {
      const price = idOf(pricing?.price_details?.price);
      const item = source?.subscription_item_details;
      if (price === null || !item || item.proration || period.end <= period.start) return [];
      return [{ price, quantity: quantity ?? 1, startsAt: timeOf(period.start), endsAt: timeOf(period.end) }];
    }),
  };
}

function timeOf(seconds: number): Date {
  return new Date(seconds * 1000);
}
