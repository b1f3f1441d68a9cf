/** Corrections of balances by hand. */
import { CHECK_VIOLATION, type Database, isDatabaseError } from '../../db/database.ts';
import { adjust, type Adjustment, adjustOnce } from '../../db/queries/credits.ts';
import { ServiceError } from '../../domain/errors.ts';
import { assertTakesOne, type FourEyes } from './finance/four-eyes.ts';
import { assertFreshForm } from './fresh-form.ts';

interface Adjusting extends FourEyes {
  readonly database: Database;
}

/** @returns the id of the transfer @throws ServiceError `insufficient_credits`; `forbidden` where it takes two people */
export async function adjustBalance({ database, ...fourEyes }: Adjusting, adjustment: Adjustment): Promise<string> {
  assertTakesOne(adjustment.amount, fourEyes);
  return adjust(database, adjustment).catch(refuseOverdraft);
}

/**
 * Adjusts a balance once, however often the same form is sent.
 *
 * @param id the id that the form was shown with, and that the transfer gets
 * @throws ServiceError `insufficient_credits`; `forbidden` where it takes two people; `bad_request` for a form that is too
 *   old; `idempotency_conflict` when the form was sent before and adjusted something else
 */
export async function adjustBalanceOnce(
  { database, ...fourEyes }: Adjusting,
  adjustment: Adjustment & { readonly id: string },
): Promise<void> {
  const { id, accountId, amount } = adjustment;
  assertFreshForm('transfer', id);
  assertTakesOne(amount, fourEyes);
  const made = await adjustOnce(database, adjustment).catch(refuseOverdraft);
  const madeAmount = made.credit === 'available' ? made.amount : -made.amount;
  if (made.kind === 'adjustment' && made.accountId === accountId && madeAmount === amount) return;
  throw new ServiceError(
    'idempotency_conflict',
    'This form was sent before and has adjusted another amount. Open the page again to adjust once more.',
  );
}

/** Says what a check violation of an adjustment means. */
export function refuseOverdraft(error: unknown): never {
  if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
  throw new ServiceError('insufficient_credits', 'The account has less funded credit than the amount to take.');
}
