/** Paying for an account on the pages of the payment provider. */
import { ServiceError } from '../../domain/errors.ts';
import { type CheckoutOrder, type CheckoutPages, CheckoutUnavailableError } from '../../providers/checkout.ts';
import type { MoneyServices, Services } from '../services.ts';

export interface CheckoutServices extends Pick<Services, 'publicUrl'> {
  readonly money: Pick<MoneyServices, 'checkout'>;
}

/** The address of an account's billing page, to which the pages of the payment provider return. */
export function billingPage({ publicUrl }: Pick<Services, 'publicUrl'>, accountId: string): string {
  return `${publicUrl}/console/accounts/${accountId}/billing`;
}

/** @returns the id of a page on which the amount is paid @throws ServiceError `processing_unavailable` */
export function openCheckout(services: CheckoutServices, order: Omit<CheckoutOrder, 'returnUrl'>): Promise<string> {
  const returnUrl = billingPage(services, order.accountId);
  return orUnavailable(requireCheckout(services).open({ ...order, returnUrl }));
}

/**
 * Returns the address of the account's payment page; null once the page is paid or expired.
 *
 * @throws ServiceError `not_found`, `processing_unavailable`
 */
export async function findCheckoutUrl(
  services: CheckoutServices,
  accountId: string,
  id: string,
): Promise<string | null> {
  const found = await orUnavailable(requireCheckout(services).find(id));
  if (found?.accountId !== accountId) throw noSuchPage();
  return found.url;
}

/** @throws ServiceError `not_found` where no payments are taken */
export function requireCheckout({ money: { checkout } }: CheckoutServices): CheckoutPages {
  if (!checkout) throw noSuchPage();
  return checkout;
}

/** @throws ServiceError `processing_unavailable` */
export async function orUnavailable<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    if (!(cause instanceof CheckoutUnavailableError)) throw cause;
    throw new ServiceError(
      'processing_unavailable',
      'The payment provider does not answer. No payment was made; try again.',
      { cause },
    );
  });
}

function noSuchPage(): ServiceError {
  return new ServiceError('not_found', 'There is no such payment page. Open the billing page again.');
}
