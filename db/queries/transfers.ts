/** Rows of the ledger. A trigger moves the balances when a row is inserted: see `db/schema/0003-ledger.sql`. */
import { type LedgerAccount, findPosting, type TransferKind } from '../../domain/ledger.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { Database } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { createdIn, type Period } from '../period.ts';
import { streamPages } from '../stream-pages.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

/** A row of the ledger. */
export interface Transfer {
  readonly id: string;
  readonly openedAt: Date;
  readonly createdAt: Date;
  readonly kind: TransferKind;
  readonly debit: LedgerAccount;
  readonly credit: LedgerAccount;
  readonly amount: PicoUsd;
  /** The part of `amount` that is signup or promo credit. */
  readonly signupAmount: PicoUsd;
  readonly pendingId: string | null;
  readonly accountId: string;
  readonly apiKeyId: string | null;
  readonly taskId: string | null;
  readonly textRequestId: string | null;
  readonly allowanceId: string | null;
  readonly reference: string | null;
  readonly author: string | null;
  readonly reason: string | null;
}

type GivenOfTransfer = 'signupAmount' | 'createdAt' | 'apiKeyId' | 'taskId' | 'reference' | 'author' | 'reason';

/** `createdAt` defaults to the current time of the database. */
export interface NewTransfer
  extends Pick<Transfer, 'id' | 'kind' | 'accountId' | 'amount'>, Partial<Pick<Transfer, GivenOfTransfer>> {
  /** The reservation that this transfer resolves. */
  readonly resolves?: { readonly reservationId: string; readonly openedAt: Date };
  /** True for an adjustment that takes money from the account. */
  readonly taken?: boolean;
}

type TransferRow = RowOf<Transfer>;

/** Inserts a transfer. A trigger moves the balances. */
export async function insertTransfer(database: Database, transfer: NewTransfer): Promise<void> {
  const { taken, resolves, createdAt = database.fn.now(), signupAmount = 0n, ...fields } = transfer;
  await database('transfers').insert({
    ...columnsOf({ ...fields, ...findPosting(transfer.kind, taken), createdAt, signupAmount }),
    opened_at: resolves?.openedAt ?? createdAt,
    pending_id: resolves?.reservationId,
  });
}

/** @param openedAt the start of the chain: for a task's transfers, the task's `createdAt` */
export async function findTransfer(database: Database, id: string, openedAt: Date): Promise<Transfer | null> {
  const row = await database<TransferRow>('transfers').where({ id, opened_at: openedAt }).first();
  return row ? toTransfer(row) : null;
}

/** Finds a transfer by its id alone. For operators, because the query reads every partition. */
export async function findTransferById(database: Database, id: string): Promise<Transfer | null> {
  const row = await database<TransferRow>('transfers').where({ id }).first();
  return row ? toTransfer(row) : null;
}

/** Lists all transfers of a text request in order. @param since when the request started */
export async function listTransfersOfText(
  database: Database,
  { accountId, textRequestId, since }: { accountId: string; textRequestId: string; since: Date },
): Promise<readonly Transfer[]> {
  const rows = await database<TransferRow>('transfers')
    .where({ account_id: accountId, text_request_id: textRequestId })
    .where('created_at', '>=', since)
    .orderBy(['created_at', 'id']);
  return rows.map(toTransfer);
}

/** Lists a page of an account's transfers, newest first. @param before the last row of the previous page */
export async function listTransfers(
  database: Database,
  filter: Period & { accountId: string; before?: { createdAt: Date; id: string } | undefined; limit: number },
): Promise<readonly Transfer[]> {
  const { accountId, before, limit, ...period } = filter;
  const query = database<TransferRow>('transfers').where({ account_id: accountId });
  createdIn(query, period);
  if (before) void query.whereRaw('(created_at, id) < (:createdAt, :id)', { ...before });
  const rows = await query
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit);
  return rows.map(toTransfer);
}

/** Lists a page of all accounts' adjustments, newest first. @param before the previous page's last id */
export async function listAdjustments(database: Database, page: IdPage): Promise<readonly Transfer[]> {
  const rows = await newestFirst(database<TransferRow>('transfers').where('kind', 'adjustment'), page);
  return rows.map(toTransfer);
}

/** Streams all transfers of an account in a period, oldest first, in a stable order. */
export function streamTransfers(
  database: Database,
  { accountId, ...period }: Period & { accountId: string },
): AsyncIterable<Transfer> {
  return streamPages(async (after: Transfer | undefined, limit) => {
    const query = database<TransferRow>('transfers').where({ account_id: accountId });
    createdIn(query, period);
    if (after) void query.whereRaw('(created_at, id) > (:createdAt, :id)', { ...after });
    return (await query.orderBy(['created_at', 'id']).limit(limit)).map(toTransfer);
  });
}

function toTransfer(row: TransferRow): Transfer {
  return readRow(row, { amounts: ['amount', 'signup_amount'] });
}
