/** Payments that were returned to their payer: see `db/migrations/0003-ledger.ts`. */
import { type PicoUsd, smaller } from '../../domain/money.ts';
import {
  amountDue,
  requiresSuspension,
  type PaymentReturn,
  type ReturnedPayment,
  applyReturn,
  withSuspension,
} from '../../domain/returned-payment.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { findAccount, lockAccount } from './accounts.ts';
import { issueDocument } from './billing-documents.ts';
import { adjust, findPayment } from './credits.ts';

interface ReturnedPaymentRow {
  readonly reference: string;
  readonly refunded: string;
  readonly disputes: Readonly<
    Record<string, { readonly amount: string; readonly is_won: boolean; readonly has_suspended: boolean }>
  >;
  readonly taken: string;
}

/** An arbitrary number that no other advisory lock of texts uses. */
const RETURNS_LOCK = 5_410_302;

/** The effect of a return on the account of the payment. */
export interface ReturnEffect {
  /** Null while the payment has not been credited. */
  readonly accountId: string | null;
  /** The amount taken from the account; negative if a won dispute credited it. Zero if nothing moved. */
  readonly taken: PicoUsd;
  readonly transferId: string | null;
  /** Whether the caller must suspend the account; true once per dispute. */
  readonly requiresSuspension: boolean;
}

/**
 * Takes the returned amount from the account, as far as the account has it, and credits the amount of a won dispute.
 * Events may come repeatedly and in any order.
 *
 * @param change null to take an amount that could not be taken before, such as when a payment is credited after its
 *   refund
 */
export function returnPayment(
  database: Database,
  reference: string,
  change: PaymentReturn | null,
): Promise<ReturnEffect | null> {
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockReturns(transaction, reference);
      if (change) await transaction('returned_payments').insert({ reference }).onConflict().ignore();
      const row = await transaction<ReturnedPaymentRow>('returned_payments').where({ reference }).forUpdate().first();
      if (!row) return null;
      const before = toReturned(row);
      const after = change ? applyReturn(before, change) : before;
      const moved = await moveDifference(transaction, reference, after);
      const suspends = moved.accountId !== null && requiresSuspension(after);
      await transaction('returned_payments')
        .where({ reference })
        .update({
          ...toColumns(suspends ? withSuspension(after) : after),
          taken: (after.taken + moved.taken).toString(),
        });
      return { ...moved, requiresSuspension: suspends };
    }),
  );
}

/**
 * Locks a payment against concurrent crediting and returning until the transaction ends. Call this before locking the
 * account. The lock is advisory, because the payment may have no row yet.
 */
export async function lockReturns(transaction: Database, reference: string): Promise<void> {
  await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(?, ?))', [reference, RETURNS_LOCK]);
}

async function moveDifference(
  transaction: Database,
  reference: string,
  returned: ReturnedPayment,
): Promise<Omit<ReturnEffect, 'requiresSuspension'>> {
  const payment = await findPayment(transaction, reference);
  if (!payment) return { accountId: null, taken: 0n, transferId: null };
  const { accountId, amount: credited } = payment;
  await lockAccount(transaction, accountId);
  const account = await findAccount(transaction, accountId);
  const due = amountDue(returned, credited) - returned.taken;
  const taken = due > 0n ? smaller(due, account?.fundedAvailable ?? 0n) : due;
  if (taken === 0n) return { accountId, taken, transferId: null };
  const reason = `${reference} ${taken > 0n ? 'went back to its payer' : 'was won in a dispute'}`;
  const transferId = await adjust(transaction, { accountId, amount: -taken, author: 'payment provider', reason });
  const [kind, amount] = taken > 0n ? (['credit_note', taken] as const) : (['receipt', -taken] as const);
  const lines = [{ subject: 'returned_payment', model: null, quantity: 1, amount } as const];
  await issueDocument(transaction, { accountId, kind, source: transferId, reference, lines });
  return { accountId, taken, transferId };
}

function toReturned({ refunded, disputes, taken }: ReturnedPaymentRow): ReturnedPayment {
  return {
    refunded: BigInt(refunded),
    disputes: new Map(
      Object.entries(disputes).map(([id, { amount, is_won: isWon, has_suspended: hasSuspended }]) => [
        id,
        { amount: BigInt(amount), isWon, hasSuspended },
      ]),
    ),
    taken: BigInt(taken),
  };
}

function toColumns({ refunded, disputes }: ReturnedPayment) {
  const entries = [...disputes].map(([id, { amount, isWon, hasSuspended }]) => [
    id,
    { amount: amount.toString(), is_won: isWon, has_suspended: hasSuspended },
  ]);
  return { refunded: refunded.toString(), disputes: JSON.stringify(Object.fromEntries(entries)) };
}
