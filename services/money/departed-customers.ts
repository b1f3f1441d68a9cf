/** Makes the payment provider delete the customers of closed accounts: saved cards are forgotten, and subscriptions end. */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { findDepartedCustomers, forgetCustomer } from '../../db/queries/closed-accounts.ts';
import { repeat, type Repetition } from '../../domain/background-loop.ts';
import type { CheckoutPages } from '../../providers/checkout.ts';

const PAUSE_MS = 30_000;
const BATCH_SIZE = 10;

interface Forgetter {
  readonly database: Database;
  readonly checkout: Pick<CheckoutPages, 'deleteCustomer'>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Runs in every api process that takes payments. */
export function startForgettingCustomers(forgetter: Forgetter): Repetition {
  return repeat(() => forgetSome(forgetter), {
    pauseMs: PAUSE_MS,
    onError: (error) => forgetter.log.error({ err: error }, 'customers of closed accounts were not read'),
  });
}

/** A customer with an unknown outcome is deleted again: a second deletion changes nothing. @returns whether more may be waiting */
export async function forgetSome({ database, checkout, log }: Forgetter): Promise<boolean> {
  const departed = await findDepartedCustomers(database, BATCH_SIZE);
  let forgotten = 0;
  for (const customer of departed) {
    const { accountId } = customer;
    try {
      await checkout.deleteCustomer(customer.customer);
      await forgetCustomer(database, customer);
      forgotten += 1;
      log.info({ accountId }, 'the payment provider deleted a customer of a closed account');
    } catch (error) {
      log.warn({ err: error, accountId }, 'a customer of a closed account is not deleted yet; the next run retries it');
    }
  }
  return forgotten === BATCH_SIZE;
}
