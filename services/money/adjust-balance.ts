/** Manual adjustments of balances. */
import { retryOnLostConnection } from '../../db/connections.ts';
import { CHECK_VIOLATION, type Database, isDatabaseError } from '../../db/database.ts';
import { type Adjustment, adjustOnce } from '../../db/queries/credits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type DualControl, adjustAlone } from './dual-control.ts';

/**
 * Adjusts a balance once per id, however often the same form is sent.
 *
 * @param adjustment its id becomes the id of the transfer
 * @throws ServiceError `insufficient_credits`; `forbidden` if the amount needs a second approval;
 *   `idempotency_conflict` if another adjustment has the id
 */
export async function adjustBalance(
  services: DualControl & { readonly database: Database },
  adjustment: Adjustment & { readonly id: string },
): Promise<void> {
  const { id, accountId, amount } = adjustment;
  const adjust = () =>
    adjustAlone(services, adjustment, async (database) => {
      const adjusted = await adjustOnce(database, adjustment).catch(refuseOverdraft);
      return { id, ...adjusted };
    });
  const { transfer: made } = await retryOnLostConnection(adjust);
  const madeAmount = made.credit === 'available' ? made.amount : -made.amount;
  if (made.kind === 'adjustment' && made.accountId === accountId && madeAmount === amount) return;
  throw new ServiceError(
    'idempotency_conflict',
    'This form was sent before with another amount. Open the page again to make another adjustment.',
  );
}

/** Reports a check violation of an adjustment as `insufficient_credits`. */
export function refuseOverdraft(error: unknown): never {
  if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
  throw new ServiceError(
    'insufficient_credits',
    'The account has less funded credit than the amount to take. Take a smaller amount.',
    { fieldFault: { path: ['amount_usd'], kind: 'usd.overdraft', values: {} } },
  );
}
