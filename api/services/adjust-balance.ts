/** Corrections of balances by hand. */
import { CHECK_VIOLATION, type Database, isDatabaseError } from '../../db/database.ts';
import { type Adjustment, adjustOnce } from '../../db/queries/credits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type DualControl, adjustAlone } from './finance/dual-control.ts';
import { assertFreshForm } from './fresh-form.ts';

/**
 * Adjusts a balance once per id, however often the same form is sent.
 *
 * @param adjustment whose id the transfer gets
 * @throws ServiceError `insufficient_credits`; `forbidden` where it takes two people; `idempotency_conflict` when the id is
 *   that of another adjustment
 */
export async function adjustBalance(
  services: DualControl & { readonly database: Database },
  adjustment: Adjustment & { readonly id: string },
): Promise<void> {
  const { id, accountId, amount } = adjustment;
  const { transfer: made } = await adjustAlone(services, adjustment, async (database) => {
    const adjusted = await adjustOnce(database, adjustment).catch(refuseOverdraft);
    return { id, ...adjusted };
  });
  const madeAmount = made.credit === 'available' ? made.amount : -made.amount;
  if (made.kind === 'adjustment' && made.accountId === accountId && madeAmount === amount) return;
  throw new ServiceError(
    'idempotency_conflict',
    'This form was sent before and has adjusted another amount. Open the page again to adjust once more.',
  );
}

/**
 * Adjusts a balance by a form, which can be sent for a day: as {@link adjustBalance}, with the id that the form was shown with.
 *
 * @throws ServiceError `bad_request` for a form that is too old
 */
export async function adjustBalanceOnce(
  services: DualControl & { readonly database: Database },
  adjustment: Adjustment & { readonly id: string },
): Promise<void> {
  assertFreshForm('transfer', adjustment.id);
  await adjustBalance(services, adjustment);
}

/** Explains a check violation of an adjustment. */
export function refuseOverdraft(error: unknown): never {
  if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
  throw new ServiceError('insufficient_credits', 'The account has less funded credit than the amount to take.');
}
