/** Payments that went back to their payer: see `db/migrations/0003-ledger.ts`. */
import { type PicoUsd, smaller } from '../../domain/money.ts';
import { dueOf, type PaymentReturn, type ReturnedPayment, withReturn } from '../../domain/returned-payment.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { findAccount, lockAccount } from './accounts.ts';
import { issueDocument } from './billing-documents.ts';
import { adjust, findPayment } from './credits.ts';

interface ReturnedPaymentRow {
  readonly reference: string;
  readonly refunded: string;
  readonly disputes: Readonly<Record<string, { readonly amount: string; readonly is_won: boolean }>>;
  readonly taken: string;
}

/** What a return did to the account of the payment. */
export interface Returned {
  /** Null while the payment has not been credited. */
  readonly accountId: string | null;
  /** Negative for what was given back after a dispute. Zero if nothing moved. */
  readonly taken: PicoUsd;
  readonly transferId: string | null;
  /** Whether it is a dispute that is not known yet. */
  readonly isNewDispute: boolean;
  /** Whether any dispute of the payment is not won. */
  readonly isDisputed: boolean;
}

/**
 * Takes back from the account what the payer got back, as far as the account has it, and gives it again what a won
 * dispute returns. However often and in whatever order events come, the account ends with what the payment left.
 *
 * @param change null to take what could not be taken before, such as when the payment is credited after its refund
 */
export function returnPayment(
  database: Database,
  reference: string,
  change: PaymentReturn | null,
): Promise<Returned | null> {
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      if (change) await transaction('returned_payments').insert({ reference }).onConflict().ignore();
      const row = await transaction<ReturnedPaymentRow>('returned_payments').where({ reference }).forUpdate().first();
      if (!row) return null;
      const before = toReturned(row);
      const after = change ? withReturn(before, change) : before;
      const isNewDispute = after.disputes.size > before.disputes.size;
      const moved = await moveDifference(transaction, reference, after);
      await transaction('returned_payments')
        .where({ reference })
        .update({ ...toColumns(after), taken: (after.taken + moved.taken).toString() });
      return { ...moved, isNewDispute, isDisputed: [...after.disputes.values()].some(({ isWon }) => !isWon) };
    }),
  );
}

/** Whoever credits a payment, or takes it back, does this before locking the account; until the transaction ends, nobody else does either. */
export async function lockReturns(transaction: Database, reference: string): Promise<void> {
  await transaction('returned_payments').where({ reference }).forUpdate().select('reference');
}

async function moveDifference(
  transaction: Database,
  reference: string,
  returned: ReturnedPayment,
): Promise<Omit<Returned, 'isNewDispute' | 'isDisputed'>> {
  const payment = await findPayment(transaction, reference);
  if (!payment) return { accountId: null, taken: 0n, transferId: null };
  const { accountId, amount: credited } = payment;
  await lockAccount(transaction, accountId);
  const account = await findAccount(transaction, accountId);
  const due = dueOf(returned, credited) - returned.taken;
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
      Object.entries(disputes).map(([id, { amount, is_won }]) => [id, { amount: BigInt(amount), isWon: is_won }]),
    ),
    taken: BigInt(taken),
  };
}

function toColumns({ refunded, disputes }: ReturnedPayment) {
  const entries = [...disputes].map(([id, { amount, isWon }]) => [id, { amount: amount.toString(), is_won: isWon }]);
  return { refunded: refunded.toString(), disputes: JSON.stringify(Object.fromEntries(entries)) };
}
