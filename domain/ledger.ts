/**
 * The books of the ledger, and from which to which each kind of transfer moves money. PostgreSQL refuses every other move
 * (`transfers_books` in `db/migrations/0003-ledger.ts`), and what a batch of tasks or text requests moves it writes by itself.
 */

/** Every book: those of the accounts, and Genway's own. */
export type Book = AccountBook | 'payments' | 'signup_credit' | 'adjustments' | 'absorbed_loss' | 'revenue';

/** What an account has free, and what is held of it until its task or text request has ended. */
export const ACCOUNT_BOOKS = ['available', 'reserved'] as const;
export type AccountBook = (typeof ACCOUNT_BOOKS)[number];

export interface Move {
  readonly debit: Book;
  readonly credit: Book;
}

/** What each kind moves. An adjustment that takes money from its account goes the other way. */
export const TRANSFERS = {
  /** Funded credit, for a payment. */
  topup: { debit: 'payments', credit: 'available' },
  /** Signup credit. */
  signup_grant: { debit: 'signup_credit', credit: 'available' },
  /** The hold on the price of a task or the estimate of a text request. One settlement or refund resolves it. */
  reservation: { debit: 'available', credit: 'reserved' },
  /** The charge. What was held above it is released: it goes back to `available` with it. */
  settlement: { debit: 'reserved', credit: 'revenue' },
  /** Gives back a hold as a whole. */
  refund: { debit: 'reserved', credit: 'available' },
  /** What a text request cost above its hold. */
  excess: { debit: 'available', credit: 'revenue' },
  /** What a text request cost above its hold and the account could not pay. */
  absorbed_loss: { debit: 'absorbed_loss', credit: 'revenue' },
  /** An operator's correction. */
  adjustment: { debit: 'adjustments', credit: 'available' },
} as const satisfies Readonly<Record<string, Move>>;

export type TransferKind = keyof typeof TRANSFERS;

/** @param taken of an adjustment: it takes money from the account */
export function moveOf(kind: TransferKind, taken = false): Move {
  const { debit, credit } = TRANSFERS[kind];
  return taken ? { debit: credit, credit: debit } : { debit, credit };
}

/** Whether a move charges its account. A key has used what it reserves and what it was charged. */
export function isCharge({ debit, credit }: Move): boolean {
  return credit === 'revenue' && ACCOUNT_BOOKS.some((book) => book === debit);
}
