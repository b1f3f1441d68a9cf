/** Paying for an account on the pages of the payment provider. */
import { ServiceError } from '../../domain/errors.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { CheckoutUnavailableError } from '../../providers/checkout.ts';
import type { ApiServices } from './services.ts';

type CheckoutServices = Pick<ApiServices, 'checkout' | 'publicUrl'>;

/** @returns the id of a page on which the amount is paid @throws ServiceError `processing_unavailable` */
export function openCheckout(
  { checkout, publicUrl }: CheckoutServices,
  order: { readonly accountId: string; readonly amount: PicoUsd; readonly description: string },
): Promise<string> {
  if (!checkout) throw noSuchPage();
  const returnUrl = `${publicUrl}/console/accounts/${order.accountId}/billing`;
  return orUnavailable(checkout.open({ ...order, returnUrl }));
}

/**
 * Where to pay, for a page of that account; null once it is paid or too old.
 *
 * @throws ServiceError `not_found`, `processing_unavailable`
 */
export async function findCheckoutUrl(
  { checkout }: CheckoutServices,
  accountId: string,
  id: string,
): Promise<string | null> {
  if (!checkout || !/^cs_\w{1,200}$/.test(id)) throw noSuchPage();
  const found = await orUnavailable(checkout.find(id));
  if (found?.accountId !== accountId) throw noSuchPage();
  return found.url;
}

async function orUnavailable<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    if (!(cause instanceof CheckoutUnavailableError)) throw cause;
    throw new ServiceError(
      'processing_unavailable',
      'The payment provider does not answer. Nothing was paid; try again.',
      { cause },
    );
  });
}

function noSuchPage(): ServiceError {
  return new ServiceError('not_found', 'There is no such page to pay on.');
}
