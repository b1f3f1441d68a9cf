/** Pages of a payment provider, on which customers pay. */
import type { PicoUsd } from '../domain/money.ts';

export interface CheckoutOrder {
  readonly accountId: string;
  /** Whole cents. */
  readonly amount: PicoUsd;
  /** What is paid for, as the customer reads it. */
  readonly description: string;
  /** Where the browser goes afterwards, whether anything was paid or not. */
  readonly returnUrl: string;
}

export interface Checkout {
  readonly accountId: string | null;
  /** Where to pay; null once it is paid or too old. */
  readonly url: string | null;
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
}

/** The provider did not do it; nothing was paid. */
export class CheckoutUnavailableError extends Error {
  override readonly name = 'CheckoutUnavailableError';
}
