/**
 * The balances of the ledger, and the two between which each kind of transfer moves money. PostgreSQL refuses every
 * other posting (`transfers_books` in `db/schema/0003-ledger.sql`). Functions in PostgreSQL write the transfers of
 * batches of tasks and text requests.
 */

/** Every account of the ledger: the two of each customer, and the operator's own. */
export type LedgerAccount =
  | CustomerLedgerAccount
  | 'payments'
  | 'signup_credit'
  | 'promo_credit'
  | 'gift_credit'
  | 'merges'
  | 'adjustments'
  | 'absorbed_loss'
  | 'revenue';

/** The ledger accounts of a customer: money to spend, and money that tasks and text processes hold. */
const CUSTOMER_LEDGER_ACCOUNTS = ['available', 'reserved'] as const;
export type CustomerLedgerAccount = (typeof CUSTOMER_LEDGER_ACCOUNTS)[number];

/** A debit and the credit that balances the debit. */
export interface Posting {
  readonly debit: LedgerAccount;
  readonly credit: LedgerAccount;
}

/** The posting of each kind of transfer. An adjustment that takes money from a customer has the opposite posting. */
export const TRANSFERS = {
  /** Funded credit, for a payment. */
  topup: { debit: 'payments', credit: 'available' },
  /** Signup credit. */
  signup_grant: { debit: 'signup_credit', credit: 'available' },
  /** Promo credit: signup credit that expires. */
  promo_grant: { debit: 'promo_credit', credit: 'available' },
  /** The rest of a promo grant that has expired. */
  promo_expiry: { debit: 'available', credit: 'promo_credit' },
  /** Funded credit, for a gift code. */
  gift: { debit: 'gift_credit', credit: 'available' },
  /** Moves money of a merged account to the other account. */
  merge_out: { debit: 'available', credit: 'merges' },
  /** The same money, to the other account. */
  merge_in: { debit: 'merges', credit: 'available' },
  /** Holds the price of a task. One settlement or refund resolves it. */
  reservation: { debit: 'available', credit: 'reserved' },
  /** Charges a task. */
  settlement: { debit: 'reserved', credit: 'revenue' },
  /** Returns the price of a task. */
  refund: { debit: 'reserved', credit: 'available' },
  /** Hands money to a text process: see `domain/allowance.ts`. */
  allowance: { debit: 'available', credit: 'reserved' },
  /** Charges a text request to an allowance. */
  charge: { debit: 'reserved', credit: 'revenue' },
  /** Returns money of an allowance. */
  release: { debit: 'reserved', credit: 'available' },
  /** The part of a text request's charge that exceeds its hold. */
  excess: { debit: 'available', credit: 'revenue' },
  /** The part of a text request's charge that exceeds its hold and that the account could not pay. */
  absorbed_loss: { debit: 'absorbed_loss', credit: 'revenue' },
  /** An operator's correction. */
  adjustment: { debit: 'adjustments', credit: 'available' },
} as const satisfies Readonly<Record<string, Posting>>;

export type TransferKind = keyof typeof TRANSFERS;

/** @param taken for an adjustment that takes money from the account */
export function findPosting(kind: TransferKind, taken = false): Posting {
  const { debit, credit } = TRANSFERS[kind];
  return taken ? { debit: credit, credit: debit } : { debit, credit };
}

/** The amount that a transfer adds to each balance of its account; negative where it takes money. */
function balanceChanges({
  debit,
  credit,
  amount,
}: Posting & { readonly amount: bigint }): Readonly<Record<CustomerLedgerAccount, bigint>> {
  const moved = (account: CustomerLedgerAccount): bigint =>
    (credit === account ? amount : 0n) - (debit === account ? amount : 0n);
  return { available: moved('available'), reserved: moved('reserved') };
}

/** Whether a posting charges its account. The `used` of a key is the sum of its holds and charges. */
export function isCharge({ debit, credit }: Posting): boolean {
  return credit === 'revenue' && CUSTOMER_LEDGER_ACCOUNTS.some((account) => account === debit);
}

/** The types of balance entries, the part of the ledger that customers see. */
export const ENTRY_TYPES = [
  'topup',
  'signup_grant',
  'promo_grant',
  'promo_expiry',
  'gift',
  'merge_out',
  'merge_in',
  'adjustment',
  'task',
  'failed_task',
  'text_request',
] as const;
export type EntryType = (typeof ENTRY_TYPES)[number];

/**
 * The entry that each kind of transfer makes. A text request whose charge exceeds its hold has two transfers and one
 * entry. The other kinds hold or return money, or move no money of the account.
 */
export const ENTRY_OF = {
  topup: 'topup',
  signup_grant: 'signup_grant',
  promo_grant: 'promo_grant',
  promo_expiry: 'promo_expiry',
  gift: 'gift',
  merge_out: 'merge_out',
  merge_in: 'merge_in',
  adjustment: 'adjustment',
  settlement: 'task',
  refund: 'failed_task',
  charge: 'text_request',
  excess: 'text_request',
} as const satisfies Partial<Record<TransferKind, EntryType>>;

/** The amount by which a transfer changes the money of its account, held money included. */
export function totalChange(moved: Posting & { readonly amount: bigint }): bigint {
  const { available, reserved } = balanceChanges(moved);
  return available + reserved;
}

/** The amount of a transfer. An adjustment that takes money from the account has a negative amount. */
export function signedAmount(transfer: Posting & { readonly kind: TransferKind; readonly amount: bigint }): bigint {
  return transfer.kind === 'adjustment' ? totalChange(transfer) : transfer.amount;
}
