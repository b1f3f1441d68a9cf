/** Credits to accounts, and adjustments: top-ups, signup credit, gifts and manual corrections. */
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { Database } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';
import { withPartitions } from '../partitions.ts';
import { lockAccount } from './accounts.ts';
import { issueDocument } from './billing-documents.ts';
import { postAwaitedSignupCredit } from './signup-credits.ts';
import { findTransferById, insertTransfer, type Transfer } from './transfers.ts';

export interface TopUp {
  readonly transferId: string;
  readonly amount: PicoUsd;
  readonly createdAt: Date;
  /** False if the reference was used before, so that this call credited nothing. */
  readonly applied: boolean;
}

/** A payment to credit. Its reference is the name that the payer or the payment service gave it. */
interface Payment {
  readonly accountId: string;
  readonly amount: PicoUsd;
  readonly reference: string;
}

type TopUpRow = RowOf<Payment & Omit<TopUp, 'applied'>>;

/** The payment was credited to another account. */
export class PaymentOfAnotherAccountError extends Error {
  override readonly name = 'PaymentOfAnotherAccountError';
}

/**
 * Credits an account once per reference, even if called several times.
 *
 * @param payment its reference has 1 to 255 characters, and is unique across all accounts if it starts with `payment:`
 * @returns the top-up for this reference: this one or an earlier one, whose amount may differ
 * @throws PaymentOfAnotherAccountError
 */
export async function topUp(database: Database, payment: Payment): Promise<TopUp> {
  return withPartitions(database, () => creditOnce(database, payment));
}

async function creditOnce(database: Database, payment: Payment): Promise<TopUp> {
  const { accountId, amount, reference } = payment;
  return database.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const transferId = newId('transfer');
    const [inserted] = await transaction('top_ups')
      .insert({
        ...columnsOf({ accountId, reference, amount, transferId }),
        created_at: transaction.raw('clock_timestamp()'),
      })
      .onConflict()
      .ignore()
      .returning<{ created_at: Date }[]>('created_at');
    if (!inserted) return findTopUp(transaction, accountId, reference);
    const createdAt = inserted.created_at;
    await insertTransfer(transaction, { id: transferId, kind: 'topup', accountId, amount, createdAt, reference });
    await postAwaitedSignupCredit(transaction, accountId);
    const lines = [{ subject: 'payment', model: null, quantity: 1, amount } as const];
    await issueDocument(transaction, { accountId, kind: 'receipt', source: transferId, reference, lines });
    return { transferId, amount, createdAt, applied: true };
  });
}

async function findTopUp(database: Database, accountId: string, reference: string): Promise<TopUp> {
  const row = await database<TopUpRow>('top_ups').where({ account_id: accountId, reference }).first();
  if (!row)
    throw new PaymentOfAnotherAccountError(`${reference} was already credited to an account other than ${accountId}`);
  return { transferId: row.transfer_id, amount: BigInt(row.amount), createdAt: row.created_at, applied: false };
}

/** Finds the account and the amount of a credited payment; null if the payment was not credited. */
export async function findPayment(
  database: Database,
  reference: string,
): Promise<{ readonly accountId: string; readonly amount: PicoUsd } | null> {
  const row = await database<TopUpRow>('top_ups').where({ reference }).first();
  return row ? { accountId: row.account_id, amount: BigInt(row.amount) } : null;
}

/** Records an announced payment that differs from the credited one, for reconciliation to report. */
export async function recordContradictedPayment(
  database: Database,
  { accountId, amount, reference }: Payment,
): Promise<void> {
  const columns = columnsOf({ accountId, amount, reference });
  await database('contradicted_payments').insert(columns).onConflict().ignore();
}

/** A payment that was credited. */
export type CreditedTopUp = Omit<TopUp, 'applied'> & { readonly reference: string };

/** Lists the top-ups of an account, newest first. @param before the transfer of the previous page's last top-up */
export async function listTopUps(
  database: Database,
  { accountId, ...page }: IdPage & { readonly accountId: string },
): Promise<readonly CreditedTopUp[]> {
  const query = database<TopUpRow>('top_ups').where({ account_id: accountId });
  const rows = await newestFirst(query, page, 'transfer_id');
  return rows.map((row) => readRow(row, { amounts: ['amount'] }));
}

/** Grants signup credit. @returns the id of the transfer */
export async function grantSignupCredit(database: Database, accountId: string, amount: PicoUsd): Promise<string> {
  const id = newId('transfer');
  await insertTransfer(database, { id, kind: 'signup_grant', accountId, amount, signupAmount: amount });
  return id;
}

/** Credits the funds of a gift code. The code must be redeemed in the same transaction. @returns the id of the transfer */
export async function creditGift(
  transaction: Database,
  gift: { readonly accountId: string; readonly amount: PicoUsd; readonly codeId: string; readonly at: Date },
): Promise<string> {
  const id = newId('transfer');
  const { accountId, amount, codeId: reference, at: createdAt } = gift;
  await insertTransfer(transaction, { id, kind: 'gift', accountId, amount, reference, createdAt });
  return id;
}

export interface Adjustment {
  readonly accountId: string;
  /** Funded credit to add, or to take if negative; never zero. */
  readonly amount: PicoUsd;
  readonly author: string;
  readonly reason: string;
}

/**
 * Corrects a balance with a new transfer.
 *
 * @returns the id of the transfer
 * @throws a check violation when the account has less than the amount to take
 */
export async function adjust(database: Database, adjustment: Adjustment): Promise<string> {
  const { transfer } = await adjustOnce(database, { id: newId('transfer'), ...adjustment });
  return transfer.id;
}

/**
 * Corrects a balance once per id, even if called several times.
 *
 * @returns the transfer with this id: this one or an earlier one, which may differ; `applied` is false for the latter
 * @throws a check violation when the account has less than the amount to take
 */
export function adjustOnce(
  database: Database,
  adjustment: Adjustment & { readonly id: string },
): Promise<{ readonly transfer: Transfer; readonly applied: boolean }> {
  const { id } = adjustment;
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await transaction.raw(`SELECT pg_advisory_xact_lock(hashtextextended('adjustment ' || :id, 0))`, { id });
      const earlier = await findTransferById(transaction, id);
      if (earlier) return { transfer: earlier, applied: false };
      await insertAdjustment(transaction, adjustment);
      const made = await findTransferById(transaction, id);
      if (!made) throw new Error(`the adjustment ${id} was not written`);
      return { transfer: made, applied: true };
    }),
  );
}

function insertAdjustment(
  database: Database,
  { amount, ...adjustment }: Adjustment & { readonly id: string },
): Promise<void> {
  const taken = amount < 0n;
  return insertTransfer(database, { ...adjustment, kind: 'adjustment', taken, amount: taken ? -amount : amount });
}
