/** Pages of a payment provider, on which customers pay. */
import type { PicoUsd } from '../domain/money.ts';

export interface CheckoutOrder {
  readonly accountId: string;
  /** Whole cents. */
  readonly amount: PicoUsd;
  /** The title of what is paid for, as the customer reads it. */
  readonly description: string;
  /** Where the browser goes afterwards, whether anything was paid or not. */
  readonly returnUrl: string;
}

export interface Checkout {
  readonly accountId: string | null;
  /** Where to pay; null once it is paid or too old. */
  readonly url: string | null;
}

/** What a customer agreed to pay, and when, with the card that was given for it. */
export interface SavedCard {
  readonly accountId: string;
  readonly threshold: PicoUsd;
  readonly amount: PicoUsd;
  readonly customer: string;
  readonly paymentMethod: string;
}

export interface CheckoutPages {
  /** Where the browser goes to pay. */
  readonly origin: string;
  /**
   * Makes a page on which an amount is paid once.
   *
   * @returns its id
   * @throws CheckoutUnavailableError
   */
  open(order: CheckoutOrder): Promise<string>;
  /** @returns null if there is no such page @throws CheckoutUnavailableError */
  find(id: string): Promise<Checkout | null>;
  /**
   * Makes a page on which a card is given, to be charged later.
   *
   * @param order `savedUrl` is where the browser goes with a card, as `{savedUrl}/{id}`
   * @returns its id
   * @throws CheckoutUnavailableError
   */
  openCard(
    order: Pick<SavedCard, 'accountId' | 'threshold' | 'amount'> & {
      readonly savedUrl: string;
      readonly returnUrl: string;
    },
  ): Promise<string>;
  /** @returns null if there is no such page, or no card was given on it @throws CheckoutUnavailableError */
  findCard(id: string): Promise<SavedCard | null>;
  /**
   * Charges a card, once for each `attemptId` within a day.
   *
   * @returns the payment
   * @throws CardRefusedError if it was not paid; CheckoutUnavailableError if that is not known
   */
  chargeCard(charge: Omit<SavedCard, 'threshold'> & { readonly attemptId: string }): Promise<{ readonly id: string }>;
}

/** The card was not charged. The message is the bank's. */
export class CardRefusedError extends Error {
  override readonly name = 'CardRefusedError';
}

/** The provider did not do it; nothing was paid. */
export class CheckoutUnavailableError extends Error {
  override readonly name = 'CheckoutUnavailableError';
}
