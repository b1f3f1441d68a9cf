/** A payment provider with subscriptions, which tests move through time. */
import { parseUsd } from '../../domain/money.ts';
import { CardRefusedError, type CheckoutPages, CheckoutUnavailableError } from '../../providers/checkout.ts';
import type { PlanBilling, ProviderInvoice, ProviderSubscription } from '../../providers/plan-billing.ts';

const MONTH_MS = 30 * 86_400_000;

/** An announcement of a change, in the form that the endpoint receives. */
export interface Announcement {
  readonly type: string;
  readonly data: { readonly object: { readonly id: string } };
}

interface Held {
  subscription: ProviderSubscription;
  startsAt: Date;
  endsAt: Date;
}

export class PlayedBilling implements PlanBilling {
  readonly invoices = new Map<string, ProviderInvoice>();
  /** All announcements, in order. */
  readonly announced: Announcement[] = [];
  refusesCards = false;
  isDown = false;
  readonly #subscriptions = new Map<string, Held>();
  readonly #orders = new Map<string, { readonly accountId: string; readonly price: string }>();
  /** The subscriptions that pages sold; null for an expired page. */
  readonly #sold = new Map<string, string | null>();
  readonly #name: string;
  #made = 0;

  /** @param name begins all ids */
  constructor(name: string) {
    this.#name = name;
  }

  openSubscription = async (order: { readonly accountId: string; readonly price: string }): Promise<string> => {
    const id = this.#newId('cs');
    this.#orders.set(id, order);
    return id;
  };

  expireSubscriptionPage = async (page: string): Promise<string | null> => {
    if (!this.#sold.has(page)) this.#sold.set(page, null);
    return this.#sold.get(page) ?? null;
  };

  findSubscription = async (id: string): Promise<ProviderSubscription | null> =>
    this.#subscriptions.get(id)?.subscription ?? null;

  findInvoice = async (id: string): Promise<ProviderInvoice | null> => this.invoices.get(id) ?? null;

  changePrice: PlanBilling['changePrice'] = async ({ id, price, startsNow }) => {
    if (startsNow && this.refusesCards) throw new CardRefusedError('Your card was declined.');
    const held = this.#held(id);
    held.subscription = { ...held.subscription, price, endsAt: null };
    this.#announce('customer.subscription.updated', id);
    if (startsNow) this.#startPeriod(held, new Date());
  };

  openPortal: PlanBilling['openPortal'] = async ({ customer }) => `https://billing.stripe.com/p/${customer}`;

  setEnding: PlanBilling['setEnding'] = async (id, ends) => {
    const held = this.#held(id);
    held.subscription = { ...held.subscription, endsAt: ends ? held.endsAt : null };
    this.#announce('customer.subscription.updated', id);
  };

  /** As the gateway uses the provider; payments and cards are not played. */
  get pages(): CheckoutPages {
    const { openSubscription, expireSubscriptionPage, findSubscription, findInvoice } = this;
    const { changePrice, openPortal, setEnding } = this;
    return {
      openSubscription,
      expireSubscriptionPage,
      findSubscription,
      findInvoice,
      changePrice,
      openPortal,
      setEnding,
      origin: 'https://checkout.stripe.com',
      open: async () => 'cs_1',
      find: async (id) => ({
        accountId: this.#orders.get(id)?.accountId ?? null,
        url: `https://checkout.stripe.com/c/pay/${id}`,
      }),
      openCard: async () => 'cs_1',
      findCard: async () => null,
      chargeCard: async () => ({ id: 'pi_1' }),
      deleteCustomer: async (customer) => this.deleteCustomer(customer),
    };
  }

  /** The customer pays on the page. @returns the id of the subscription */
  pay(page: string, startsAt = new Date()): string {
    const order = this.#orders.get(page);
    if (!order) throw new Error(`there is no page ${page}`);
    if (this.#sold.has(page)) throw new Error(`the page ${page} is paid or expired`);
    const { accountId, price } = order;
    const id = this.#newId('sub');
    this.#sold.set(page, id);
    const subscription = { id, customer: this.#newId('cus'), item: this.#newId('si'), status: 'active', endsAt: null };
    const held = { subscription: { ...subscription, accountId, price }, startsAt, endsAt: startsAt };
    this.#subscriptions.set(id, held);
    this.#announce('customer.subscription.created', id);
    this.#startPeriod(held, startsAt);
    return id;
  }

  /** The next period starts. @param isPaid whether its invoice is paid */
  renew(id: string, isPaid = true): void {
    const held = this.#held(id);
    this.#startPeriod(held, held.endsAt, isPaid);
  }

  /** The provider ends the subscription now. */
  end(id: string): void {
    const held = this.#held(id);
    held.subscription = { ...held.subscription, status: 'canceled', endsAt: new Date() };
    this.#announce('customer.subscription.deleted', id);
  }

  /** The provider ends the subscriptions of a customer who is deleted. Fails while {@link isDown}. */
  deleteCustomer(customer: string): void {
    if (this.isDown) throw new CheckoutUnavailableError('the provider is down');
    for (const [id, { subscription }] of this.#subscriptions) if (subscription.customer === customer) this.end(id);
  }

  #startPeriod(held: Held, startsAt: Date, isPaid = true): void {
    const endsAt = new Date(startsAt.getTime() + MONTH_MS);
    Object.assign(held, { startsAt, endsAt });
    const { id: subscriptionId, price } = held.subscription;
    held.subscription = { ...held.subscription, status: isPaid ? 'active' : 'past_due' };
    const id = this.#newId('in');
    const createdAt = new Date(startsAt.getTime() + this.#made);
    this.invoices.set(id, {
      id,
      subscriptionId,
      isPaid,
      createdAt,
      paid: parseUsd(10),
      paymentIds: [`pi_${id}`],
      periods: [{ price, quantity: 1, startsAt, endsAt }],
    });
    this.#announce(isPaid ? 'invoice.paid' : 'invoice.payment_failed', id);
    this.#announce('customer.subscription.updated', subscriptionId);
  }

  #held(id: string): Held {
    const held = this.#subscriptions.get(id);
    if (!held) throw new Error(`there is no subscription ${id}`);
    return held;
  }

  #newId(kind: string): string {
    this.#made += 1;
    return `${kind}_${this.#name}_${this.#made}`;
  }

  #announce(type: string, id: string): void {
    this.announced.push({ type, data: { object: { id } } });
  }
}
