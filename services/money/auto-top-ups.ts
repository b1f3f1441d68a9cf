/** Automatic top-ups: customers agree to them on the payment provider's pages, and pay by card at a low balance. */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { acceptAutoTopUp, claimTopUps, endTopUp, type TopUpAttempt } from '../../db/queries/auto-top-ups.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { repeat, type Repetition } from '../../domain/background-loop.ts';
import { CardRefusedError, type CheckoutPages } from '../../providers/checkout.ts';
import { billingPage, orUnavailable, requireCheckout, type CheckoutServices } from './checkout.ts';
import { creditPayment } from './credit-once.ts';

const PAUSE_MS = 5_000;
const BATCH_SIZE = 10;

/** @returns the id of a page on which the customer enters a card @throws ServiceError `processing_unavailable` */
export function openAutoTopUp(
  services: CheckoutServices,
  order: { readonly accountId: string; readonly threshold: PicoUsd; readonly amount: PicoUsd },
): Promise<string> {
  const billing = billingPage(services, order.accountId);
  const urls = { returnUrl: billing, savedUrl: `${billing}/automatic` };
  return orUnavailable(requireCheckout(services).openCard({ ...order, ...urls }));
}

/** Starts the top-ups that the customer agreed to on the page, once. Does nothing until the page has a card. */
export async function confirmAutoTopUp(
  services: CheckoutServices & { readonly database: Database },
  accountId: string,
  checkoutId: string,
): Promise<void> {
  const card = await orUnavailable(requireCheckout(services).findCard(checkoutId));
  if (card?.accountId === accountId) await acceptAutoTopUp(services.database, checkoutId, card);
}

/** Charges the cards of accounts with a low balance, in every api process. Its stop waits for payments in progress. */
export function startAutoTopUps(payer: Payer): Repetition {
  return repeat(() => topUpSome(payer), {
    pauseMs: PAUSE_MS,
    onError: (error) => payer.log.error({ err: error }, 'automatic top-ups failed; the next run retries them'),
  });
}

interface Payer {
  readonly database: Database;
  readonly checkout: Pick<CheckoutPages, 'chargeCard'>;
  readonly publicUrl: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** @returns whether more accounts may be waiting */
export async function topUpSome(payer: Payer): Promise<boolean> {
  const attempts = await claimTopUps(payer.database, BATCH_SIZE);
  for (const attempt of attempts) await topUp(payer, attempt);
  return attempts.length === BATCH_SIZE;
}

/** A payment with an unknown outcome is requested again under the same id, so it is made once. */
async function topUp({ database, checkout, publicUrl, log }: Payer, attempt: TopUpAttempt): Promise<void> {
  const { accountId, amount } = attempt;
  try {
    const { id } = await checkout.chargeCard({ ...attempt, returnUrl: billingPage({ publicUrl }, accountId) });
    await creditPayment(database, { id, accountId, amount });
    await endTopUp(database, attempt, null);
    log.info({ accountId, paymentId: id }, 'topped up an account automatically');
  } catch (error) {
    if (!(error instanceof CardRefusedError)) {
      log.warn({ err: error, accountId }, 'an automatic top-up is not confirmed; the next run retries it');
      return;
    }
    await endTopUp(database, attempt, error.message);
    log.warn({ accountId, reason: error.message }, 'a card was refused; automatic top-ups of the account have stopped');
  }
}
