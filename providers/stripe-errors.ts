/** Answers and errors of Stripe's API. */
import { default as Stripe } from 'stripe';
import { CardRefusedError, CheckoutUnavailableError } from './checkout.ts';

export function idOf(named: string | { readonly id: string } | null | undefined): string | null {
  return typeof named === 'object' ? (named?.id ?? null) : (named ?? null);
}

/** Why the card cannot pay; null for any other error. https://docs.stripe.com/error-handling */
export function refusalOf(error: unknown): CardRefusedError | null {
  if (error instanceof Stripe.errors.StripeCardError) return new CardRefusedError(error.message);
  const isMissing = error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing';
  return isMissing ? new CardRefusedError('Stripe no longer has the card. Give it again.') : null;
}

/** @returns null if Stripe does not have the object */
export function found<Result>(answer: Promise<Result>): Promise<Result | null> {
  return rethrowAsUnavailable(
    answer.catch((error: unknown) => {
      if (error instanceof Stripe.errors.StripeInvalidRequestError) return null;
      throw error;
    }),
  );
}

/** @throws CheckoutUnavailableError, or CardRefusedError unchanged */
export async function rethrowAsUnavailable<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CardRefusedError) throw error;
    throw new CheckoutUnavailableError('Stripe did not do it', { cause: error });
  }
}
