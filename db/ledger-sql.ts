/** What a row of `transfers` moves, as expressions of SQL: the rules of `domain/ledger.ts`. */
import { type AccountBook, isCharge, TRANSFERS } from '../domain/ledger.ts';

/** 1 where the row's `amount` goes to that book of its account, -1 where it leaves it, 0 where it does neither. */
export function signOf(book: AccountBook): string {
  return `((credit = '${book}')::int - (debit = '${book}')::int)`;
}

/** What the row adds to `available` and `reserved`. */
export const CHANGE = {
  available: `(amount * ${signOf('available')} + released)`,
  reserved: `(amount * ${signOf('reserved')} - released)`,
};

/** The kinds that charge an account, as a list for `IN`. */
export const CHARGES = `(${Object.entries(TRANSFERS)
  .filter(([, move]) => isCharge(move))
  .map(([kind]) => `'${kind}'`)
  .join(', ')})`;
