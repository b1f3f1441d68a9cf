/** Monthly plans at a payment provider. Every change is read back from the provider: its events only say that something changed. */

import type { PicoUsd } from '../domain/money.ts';

/** A subscription as the provider knows it now. */
export interface ProviderSubscription {
  readonly id: string;
  /** Null if the subscription is not for an account. */
  readonly accountId: string | null;
  readonly customer: string;
  readonly status: string;
  readonly item: string;
  readonly price: string;
  readonly endsAt: Date | null;
}

/** An invoice as the provider knows it now. */
export interface ProviderInvoice {
  readonly id: string;
  /** Null if the invoice is of no subscription. */
  readonly subscriptionId: string | null;
  readonly isPaid: boolean;
  readonly createdAt: Date;
  /** What was paid, with taxes; null in a currency other than USD. */
  readonly paid: PicoUsd | null;
  /** The ids of the payments that paid the invoice; none if nothing was charged. */
  readonly paymentIds: readonly string[];
  /** The whole periods that the invoice is for; no parts of periods. */
  readonly periods: readonly {
    readonly price: string;
    /** How many times the customer pays the price. */
    readonly quantity: number;
    readonly startsAt: Date;
    readonly endsAt: Date;
  }[];
}

export interface PlanBilling {
  /**
   * Makes a page on which the customer subscribes. Afterwards the browser goes to `returnUrl`.
   *
   * @returns the page's id @throws CheckoutUnavailableError
   */
  openSubscription(order: {
    readonly accountId: string;
    readonly price: string;
    readonly customer: string | null;
    readonly returnUrl: string;
  }): Promise<string>;
  /**
   * Expires a page on which nobody has subscribed. Does nothing if the page is already expired.
   *
   * @returns the id of the subscription that the page sold; null for none @throws CheckoutUnavailableError
   */
  expireSubscriptionPage(page: string): Promise<string | null>;
  /** @returns null if there is no such subscription @throws CheckoutUnavailableError */
  findSubscription(id: string): Promise<ProviderSubscription | null>;
  /** @returns null if there is no such invoice @throws CheckoutUnavailableError */
  findInvoice(id: string): Promise<ProviderInvoice | null>;
  /**
   * Changes the price: with `startsNow`, a new period starts and is paid at once; otherwise the next period has the price. A
   * subscription that was to end goes on.
   *
   * @throws CardRefusedError if a new period could not be paid, and nothing changed; CheckoutUnavailableError
   */
  changePrice(change: {
    readonly id: string;
    readonly item: string;
    readonly price: string;
    readonly startsNow: boolean;
  }): Promise<void>;
  /**
   * Makes a page on which the customer changes the card and sees the invoices, for some minutes.
   *
   * @returns the page's address @throws CheckoutUnavailableError
   */
  openPortal(order: { readonly customer: string; readonly returnUrl: string }): Promise<string>;
  /** Sets whether the subscription ends with its period. @throws CheckoutUnavailableError */
  setEnding(id: string, ends: boolean): Promise<void>;
}
