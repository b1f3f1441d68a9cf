/** Payments that were returned to their payer: see `db/schema/0003-ledger.sql`. */
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
import { lockAccountAndMerged } from './accounts.ts';
import { issueDocument } from './billing-documents.ts';
import { adjust, findPayment } from './credits.ts';
import { referenceOfInvoice } from './plans.ts';

interface ReturnedPaymentRow {
  readonly reference: string;
  readonly refunded: string;
  readonly refunded_at: string;
  readonly failed_refunds: Readonly<Record<string, { readonly amount: string; readonly failed_at: number }>>;
  readonly disputes: Readonly<
    Record<
      string,
      {
        readonly amount: string;
        readonly is_won: boolean;
        readonly is_prevented?: boolean;
        readonly has_suspended: boolean;
      }
    >
  >;
  readonly taken: string;
}

/** Money that was taken for a returned payment, and has no credit note yet. */
interface DueCreditNoteRow {
  readonly transfer_id: string;
  readonly account_id: string;
  readonly reference: string;
  readonly amount: string;
}

/** An arbitrary number that no other advisory lock of texts uses. */
const RETURNS_LOCK = 5_410_302;

/** The effect of a return on the account of the payment. */
export interface ReturnEffect {
  /** Null while the payment has not been credited. */
  readonly accountId: string | null;
  /** The amount taken from the account; negative if a won dispute or a failed refund credited it. Zero if nothing moved. */
  readonly taken: PicoUsd;
  /** The last transfer that moved the amount; null if nothing moved. */
  readonly transferId: string | null;
  /** The reference of the promo credit that the payment gave, which the caller must end; null while it is not credited. */
  readonly promoReference: string | null;
  /** Whether the caller must suspend the account; true once per dispute. */
  readonly requiresSuspension: boolean;
}

/**
 * Records a return. The account gives the returned amount as far as it has funded credit, and owes the rest, which its
 * next funded credit pays: see `db/functions/collect-debts.sql`. Credits the amount of a won
 * dispute or of a failed refund.
 * Events may come repeatedly and in any order.
 *
 * @param change null when a payment is credited, perhaps after its refund
 */
export function returnPayment(
  database: Database,
  reference: string,
  change: PaymentReturn | null,
): Promise<ReturnEffect | null> {
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockReturns(transaction, reference);
      const payment = await findCredited(transaction, reference);
      // Promo credit that the payment gave may have moved to these accounts, which a dispute suspends.
      if (payment) await lockAccountAndMerged(transaction, payment.accountId);
      if (change) await transaction('returned_payments').insert({ reference }).onConflict().ignore();
      const row = await findReturned(transaction, reference);
      if (!row) return null;
      const before = toReturned(row);
      const after = change ? applyReturn(before, change) : before;
      const suspends = payment !== null && requiresSuspension(after);
      const due = payment ? amountDue(after, payment.amount) : 0n;
      await transaction('returned_payments')
        .where({ reference })
        .update({
          ...toColumns(suspends ? withSuspension(after) : after),
          account_id: payment?.accountId,
          due: due.toString(),
          taken: smaller(before.taken, due).toString(),
        });
      if (!payment) {
        return { accountId: null, taken: 0n, transferId: null, promoReference: null, requiresSuspension: false };
      }
      const { accountId, promoReference } = payment;
      const moved =
        before.taken > due
          ? await giveBack(transaction, {
              accountId,
              reference,
              amount: before.taken - due,
              reason: reasonToGiveBack(reference, change),
            })
          : await sumTaken(transaction, reference, before.taken);
      await issueCreditNotes(transaction, { accountId });
      return { accountId, ...moved, promoReference, requiresSuspension: suspends };
    }),
  );
}

/** Finds what a payment credited: funds with perhaps a bonus, or the promo credit of a plan alone. */
async function findCredited(transaction: Database, reference: string) {
  const payment = await findPayment(transaction, reference);
  if (payment) return { ...payment, promoReference: reference };
  const period = await transaction<{ account_id: string; invoice_id: string }>('plan_periods')
    .whereRaw('payments @> ARRAY[:reference]::text[]', { reference })
    .first('account_id', 'invoice_id');
  return period
    ? { accountId: period.account_id, amount: 0n, promoReference: referenceOfInvoice(period.invoice_id) }
    : null;
}

type Moved = Pick<ReturnEffect, 'taken' | 'transferId'>;

interface GivenBack {
  readonly accountId: string;
  readonly reference: string;
  readonly amount: PicoUsd;
  readonly reason: string;
}

function reasonToGiveBack(reference: string, change: PaymentReturn | null): string {
  if (change === null || !('dispute' in change)) return `a refund of ${reference} failed`;
  return change.dispute.isWon ? `${reference} was won in a dispute` : `the dispute of ${reference} is for less`;
}

/** Credits an amount that was taken and did not stay with the payer. */
async function giveBack(transaction: Database, { accountId, reference, amount, reason }: GivenBack): Promise<Moved> {
  const transferId = await adjust(transaction, { accountId, amount, author: 'payment provider', reason });
  const lines = [{ subject: 'returned_payment', model: null, quantity: 1, amount } as const];
  await issueDocument(transaction, { accountId, kind: 'receipt', source: transferId, reference, lines });
  return { taken: -amount, transferId };
}

/** Reads what the database took for the payment in this transaction. @param before what it had taken before */
async function sumTaken(transaction: Database, reference: string, before: PicoUsd): Promise<Moved> {
  const row = await findReturned(transaction, reference);
  const note = await transaction<DueCreditNoteRow>('due_credit_notes')
    .where({ reference })
    .orderBy('transfer_id', 'desc')
    .first();
  const taken = BigInt(row?.taken ?? 0) - before;
  return { taken, transferId: taken === 0n ? null : (note?.transfer_id ?? null) };
}

/**
 * Issues the credit notes of what accounts gave for returned payments, and skips those that another transaction is
 * issuing.
 *
 * @returns the number of amounts; fewer than `limit` if none is left
 */
export async function issueCreditNotes(
  transaction: Database,
  { accountId, limit = 1_000 }: { readonly accountId?: string; readonly limit?: number },
): Promise<number> {
  const { rows } = await transaction.raw<{ rows: DueCreditNoteRow[] }>(
    /* sql */ `
    DELETE FROM due_credit_notes WHERE transfer_id = ANY (ARRAY(
      SELECT transfer_id FROM due_credit_notes WHERE account_id = coalesce(:accountId, account_id)
      ORDER BY transfer_id LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING *`,
    { accountId: accountId ?? null, limit },
  );
  for (const { transfer_id: source, account_id: owner, reference, amount } of rows.toSorted(byTransfer)) {
    const lines = [{ subject: 'returned_payment', model: null, quantity: 1, amount: BigInt(amount) } as const];
    await issueDocument(transaction, { accountId: owner, kind: 'credit_note', source, reference, lines });
  }
  return rows.length;
}

function byTransfer(left: DueCreditNoteRow, right: DueCreditNoteRow): number {
  return left.transfer_id < right.transfer_id ? -1 : 1;
}

/**
 * Locks a payment, and the accounts whose balances its credit and its returns may change, until the transaction ends. Call
 * this before all other locks of accounts: the accounts are locked in the order in which merges lock them.
 */
export function lockPayment(
  transaction: Database,
  { accountId, reference }: { readonly accountId: string; readonly reference: string },
): Promise<void> {
  return lockPayments(transaction, { accountId, references: [reference] });
}

/** Locks several payments of an account, in one order, as {@link lockPayment}. */
export async function lockPayments(
  transaction: Database,
  { accountId, references }: { readonly accountId: string; readonly references: readonly string[] },
): Promise<void> {
  for (const reference of references.toSorted()) await lockReturns(transaction, reference);
  await lockAccountAndMerged(transaction, accountId);
}

/**
 * Locks a payment against concurrent crediting and returning until the transaction ends. Call this before locking the
 * account, whose lock comes before that of the row. The lock is advisory, because the payment may have no row yet.
 */
async function lockReturns(transaction: Database, reference: string): Promise<void> {
  await transaction.raw('SELECT pg_advisory_xact_lock(hashtextextended(:reference, :lock))', {
    reference,
    lock: RETURNS_LOCK,
  });
}

function findReturned(transaction: Database, reference: string): Promise<ReturnedPaymentRow | undefined> {
  return transaction<ReturnedPaymentRow>('returned_payments').where({ reference }).forUpdate().first();
}

function toReturned(row: ReturnedPaymentRow): ReturnedPayment {
  return {
    refunded: BigInt(row.refunded),
    refundedAt: Number(row.refunded_at),
    failedRefunds: new Map(
      Object.entries(row.failed_refunds).map(([id, { amount, failed_at: failedAt }]) => [
        id,
        { amount: BigInt(amount), failedAt },
      ]),
    ),
    disputes: new Map(
      Object.entries(row.disputes).map(([id, dispute]) => [
        id,
        {
          amount: BigInt(dispute.amount),
          isWon: dispute.is_won,
          isPrevented: dispute.is_prevented ?? false,
          hasSuspended: dispute.has_suspended,
        },
      ]),
    ),
    taken: BigInt(row.taken),
  };
}

function toColumns({ refunded, refundedAt, failedRefunds, disputes }: ReturnedPayment) {
  const failed = [...failedRefunds].map(([id, { amount, failedAt }]) => [
    id,
    { amount: amount.toString(), failed_at: failedAt },
  ]);
  const entries = [...disputes].map(([id, { amount, isWon, isPrevented, hasSuspended }]) => [
    id,
    { amount: amount.toString(), is_won: isWon, is_prevented: isPrevented, has_suspended: hasSuspended },
  ]);
  return {
    refunded: refunded.toString(),
    refunded_at: refundedAt,
    failed_refunds: JSON.stringify(Object.fromEntries(failed)),
    disputes: JSON.stringify(Object.fromEntries(entries)),
  };
}
