/** Corrections of balances by hand. */
import { CHECK_VIOLATION, type Database, isDatabaseError } from '../../db/database.ts';
import { adjust, type Adjustment, adjustOnce } from '../../db/queries/credits.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { createdAtMsOf, isId } from '../../domain/ids.ts';

/** For so long a form may be sent that was shown with the id of its adjustment. */
const FORM_LIFETIME_MS = 86_400_000;
const CLOCKS_APART_MS = 60_000;

/** @returns the id of the transfer @throws ServiceError `insufficient_credits` */
export function adjustBalance(database: Database, adjustment: Adjustment): Promise<string> {
  return adjust(database, adjustment).catch(refuseOverdraft);
}

/**
 * Adjusts a balance once, however often the same form is sent.
 *
 * @param id the id that the form was shown with, and that the transfer gets
 * @throws ServiceError `insufficient_credits`; `bad_request` for a form that is too old; `idempotency_conflict` when the form
 *   was sent before and adjusted something else
 */
export async function adjustBalanceOnce(
  database: Database,
  adjustment: Adjustment & { readonly id: string },
): Promise<void> {
  const { id, accountId, amount } = adjustment;
  const age = isId('transfer', id) ? Date.now() - createdAtMsOf('transfer', id) : Number.POSITIVE_INFINITY;
  if (age > FORM_LIFETIME_MS || age < -CLOCKS_APART_MS) {
    throw badRequest('This form is too old. Open the page again and fill it in once more.');
  }
  const made = await adjustOnce(database, adjustment).catch(refuseOverdraft);
  const madeAmount = made.credit === 'available' ? made.amount : -made.amount;
  if (made.kind === 'adjustment' && made.accountId === accountId && madeAmount === amount) return;
  throw new ServiceError(
    'idempotency_conflict',
    'This form was sent before and has adjusted another amount. Open the page again to adjust once more.',
  );
}

function refuseOverdraft(error: unknown): never {
  if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
  throw new ServiceError('insufficient_credits', 'The account has less funded credit than the amount to take.');
}
