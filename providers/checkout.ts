/** Pages of a payment provider on which customers pay. */
import type { PaymentMethod } from '../catalogue/site-money.ts';
import type { PicoUsd } from '../domain/money.ts';
import type { PlanBilling } from './plan-billing.ts';

export interface CheckoutOrder {
  readonly accountId: string;
  /** Whole cents. */
  readonly amount: PicoUsd;
  /** The title of the item on the page. */
  readonly description: string;
  /** The accepted methods, by the provider's names; null for those that are chosen at the provider. */
  readonly methods: readonly PaymentMethod[] | null;
  /** Where the browser goes afterwards, whether the customer paid or not. */
  readonly returnUrl: string;
}

export interface Checkout {
  readonly accountId: string | null;
  /** The page's address; null once it is paid or expired. */
  readonly url: string | null;
}

/** A customer's consent to automatic top-ups: the threshold, the amount, and the saved card. */
export interface SavedCard {
  readonly accountId: string;
  readonly threshold: PicoUsd;
  readonly amount: PicoUsd;
  readonly customer: string;
  readonly paymentMethod: string;
}

export interface CheckoutPages extends PlanBilling {
  /** The origin of the pages. */
  readonly origin: string;
  /**
   * Makes a page on which the customer pays an amount once.
   *
   * @returns the page's id
   * @throws CheckoutUnavailableError
   */
  open(order: CheckoutOrder): Promise<string>;
  /** @returns null if the page does not exist @throws CheckoutUnavailableError */
  find(id: string): Promise<Checkout | null>;
  /**
   * Makes a page on which the customer saves a card, to be charged later.
   *
   * @param order after saving, the browser goes to `{savedUrl}/{id}`
   * @returns the page's id
   * @throws CheckoutUnavailableError
   */
  openCard(
    order: Pick<SavedCard, 'accountId' | 'threshold' | 'amount'> & {
      readonly savedUrl: string;
      readonly returnUrl: string;
    },
  ): Promise<string>;
  /** @returns null if the page does not exist, or has no saved card @throws CheckoutUnavailableError */
  findCard(id: string): Promise<SavedCard | null>;
  /**
   * Charges a card, once for each `attemptId` within a day.
   *
   * @returns the payment
   * @throws CardRefusedError if the card was not charged; CheckoutUnavailableError if the outcome is unknown
   */
  chargeCard(
    charge: Omit<SavedCard, 'threshold'> & { readonly attemptId: string; readonly returnUrl: string },
  ): Promise<{ readonly id: string }>;
  /**
   * Deletes a customer with the saved cards, and ends the customer's subscriptions at once. Payments and invoices stay.
   * Does nothing if the customer is already deleted.
   *
   * @throws CheckoutUnavailableError
   */
  deleteCustomer(customer: string): Promise<void>;
}

/** The card was not charged. The message gives the bank's reason. */
export class CardRefusedError extends Error {
  override readonly name = 'CardRefusedError';
}

/** The provider failed or could not be reached. The outcome of a charge is then unknown. */
export class CheckoutUnavailableError extends Error {
  override readonly name = 'CheckoutUnavailableError';
}
