/** The rules of `domain/ledger.ts` as SQL expressions: what a row of `transfers` moves. */
import { type AccountBook, isCharge, TRANSFERS } from '../domain/ledger.ts';

/** 1 if the row's `amount` goes to this book of its account, -1 if it leaves the book, 0 otherwise. */
export function signOf(book: AccountBook): string {
  return `((credit = '${book}')::int - (debit = '${book}')::int)`;
}

/** What a row adds to `available` and `reserved`. */
export const CHANGE = {
  available: `(amount * ${signOf('available')} + released)`,
  reserved: `(amount * ${signOf('reserved')} - released)`,
};

/** The kinds of transfer that charge an account, as a list for `IN`. */
export const CHARGES = `(${Object.entries(TRANSFERS)
  .filter(([, move]) => isCharge(move))
  .map(([kind]) => `'${kind}'`)
  .join(', ')})`;
