import type { Database } from '../../db/database.ts';
import { PaymentOfAnotherAccountError, type TopUp, topUp } from '../../db/queries/credits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatUsd, type PicoUsd } from '../../domain/money.ts';

/**
 * Credits an account once for each reference.
 *
 * @throws ServiceError `idempotency_conflict` when the reference has credited another amount or another account
 */
export async function creditOnce(
  database: Database,
  credit: { readonly accountId: string; readonly amount: PicoUsd; readonly reference: string },
): Promise<TopUp> {
  const credited = await topUp(database, credit).catch((error: unknown) => {
    if (!(error instanceof PaymentOfAnotherAccountError)) throw error;
    throw new ServiceError('idempotency_conflict', `${credit.reference} has credited another account before.`);
  });
  if (credited.amount !== credit.amount) {
    throw new ServiceError(
      'idempotency_conflict',
      `The reference ${credit.reference} has credited ${formatUsd(credited.amount)} USD before. Use a new reference.`,
    );
  }
  return credited;
}
