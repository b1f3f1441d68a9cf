/** Queries for finance: daily statements, and the refunds of all accounts. */
import type { Knex } from 'knex';
import type { PicoUsd } from '../../domain/money.ts';
import { type Database, picoUsd } from '../database.ts';
import type { IdPage } from '../page.ts';
import { createdIn, type Period } from '../period.ts';
import type { Transfer } from './transfers.ts';
import { sumTransfersWhere } from './daily-transfers.ts';
import { firstTransferIdOf, MAX_CHAIN_MS } from './month-export.ts';
import { streamPages } from '../stream-pages.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

export interface BooksOfAccount {
  readonly available: PicoUsd;
  readonly reserved: PicoUsd;
}

/** The changes to an account by one kind of transfer on one day. Negative changes are decreases. */
export interface Activity {
  readonly kind: string;
  readonly transfers: number;
  readonly available: PicoUsd;
  readonly reserved: PicoUsd;
}

/** In each book, opening plus activity equals closing. */
export interface Statement {
  readonly opening: BooksOfAccount;
  readonly activity: readonly Activity[];
  readonly closing: BooksOfAccount;
}

type PeriodRow = RowOf<Activity, 'transfers'> & { readonly part: 'before' | 'within' };

/**
 * The statement of an account over a period of days. Reads sums of days, and only the transfers since they were made; the sums
 * stay when a month is detached, so its statements do, too.
 *
 * @param from midnight in UTC, inclusive
 * @param to midnight in UTC, exclusive
 */
export async function readStatement(
  database: Database,
  period: { accountId: string; from: Date; to: Date },
): Promise<Statement> {
  const { rows } = await database.raw<{ rows: PeriodRow[] }>(STATEMENT, period);
  return toStatement(rows);
}

/** The statement of all accounts together: see {@link readStatement}. */
export async function readStatementOfAll(database: Database, period: { from: Date; to: Date }): Promise<Statement> {
  const { rows } = await database.raw<{ rows: PeriodRow[] }>(statementOf('true'), period);
  return toStatement(rows);
}

function toStatement(rows: readonly PeriodRow[]): Statement {
  const activity = rows.filter(({ part }) => part === 'within').map(toActivity);
  const opening = sumOf(rows.filter(({ part }) => part === 'before').map(toActivity));
  return { opening, activity, closing: sumOf([opening, ...activity]) };
}

/** Sums and rows are read at once, so that nothing is missing or counted twice. */
const statementOf = (accounts: string): string => /* sql */ `
  SELECT CASE WHEN day < (CAST(:from AS timestamptz) AT TIME ZONE 'UTC')::date THEN 'before' ELSE 'within' END AS part,
    kind, sum(transfers) AS transfers, sum(available) AS available, sum(reserved) AS reserved
  FROM (
    SELECT * FROM daily_transfers
    WHERE ${accounts} AND day < (CAST(:to AS timestamptz) AT TIME ZONE 'UTC')::date
    UNION ALL
    ${sumTransfersWhere(`${accounts} AND created_at >= (SELECT before FROM daily_usage_summed) AND created_at < :to`)}
  ) AS summed
  GROUP BY 1, 2 ORDER BY 1, 2`;
export const STATEMENT = statementOf('account_id = :accountId');

function toActivity({ kind, transfers, available, reserved }: PeriodRow): Activity {
  return { kind, transfers: Number(transfers), available: picoUsd(available), reserved: picoUsd(reserved) };
}

function sumOf(books: readonly BooksOfAccount[]): BooksOfAccount {
  return books.reduce(
    (total, { available, reserved }) => ({
      available: total.available + available,
      reserved: total.reserved + reserved,
    }),
    { available: 0n, reserved: 0n },
  );
}

/** A refund, with its task or request and its reason. */
export interface Refund extends Pick<Transfer, 'id' | 'createdAt' | 'accountId' | 'apiKeyId' | 'amount'> {
  readonly reservationId: string;
  readonly taskId: string;
  readonly model: string | null;
  /** The error code of the task. */
  readonly cause: string | null;
  readonly message: string | null;
  readonly requestId: string | null;
}

type RefundRow = RowOf<Refund>;

export interface RefundFilter extends Period {
  readonly accountId?: string | undefined;
  /** Only refunds for that cause. */
  readonly cause?: string | undefined;
}

/** The sum of the refunds for one cause. */
export interface RefundSum {
  /** Null for refunds of which nothing else is known. */
  readonly cause: string | null;
  readonly refunds: number;
  readonly amount: PicoUsd;
}

/** Why a refund was given. */
const CAUSE = 'task.error_code';
const WITH_CAUSE = /* sql */ `
  LEFT JOIN tasks AS task ON task.id = refund.task_id AND task.created_at = refund.opened_at`;

/**
 * All refunds by cause, the highest sum first. Reads indexes of refunds and failures alone.
 */
export async function sumRefunds(database: Database, filter: RefundFilter): Promise<readonly RefundSum[]> {
  const begun = begunBefore(filter.from);
  const tasks = database('tasks').where('status', 'failed').select('id', 'created_at', 'error_code');
  createdIn(tasks, begun);
  const rows = await database
    .select<{ cause: string | null; refunds: string; amount: string }[]>(
      database.raw(`${CAUSE} AS cause, count(*) AS refunds, sum(refund.amount) AS amount`),
    )
    .from(refundsIn(database, filter).as('refund'))
    .leftJoin(tasks.as('task'), { 'task.id': 'refund.task_id', 'task.created_at': 'refund.opened_at' })
    .groupByRaw('1')
    .orderByRaw('3 DESC, 1');
  return rows.map(({ cause, refunds, amount }) => ({ cause, refunds: Number(refunds), amount: picoUsd(amount) }));
}

/** The period in which a request refunded since a moment started: the condition excludes earlier partitions. */
function begunBefore(from: Date | undefined): Period {
  return from ? { from: new Date(from.getTime() - MAX_CHAIN_MS) } : {};
}

function refundsIn(database: Database, { accountId, from, to }: RefundFilter): Knex.QueryBuilder {
  const refunds = database('transfers').where(columnsOf({ kind: 'refund', accountId }));
  createdIn(refunds, { from, to });
  createdIn(refunds, begunBefore(from), 'opened_at');
  return refunds;
}

/** All refunds, newest first, read on demand. */
export function streamRefunds(database: Database, filter: RefundFilter): AsyncIterable<Refund> {
  return streamPages((after, limit) => listRefunds(database, { ...filter, before: after?.id, limit }));
}

/** A page of refunds, of all accounts or one, newest first. @param before the last refund's id on the previous page */
export async function listRefunds(
  database: Database,
  { before, limit, ...filter }: RefundFilter & IdPage,
): Promise<readonly Refund[]> {
  const refunds = refundsIn(database, filter);
  if (before !== undefined) void refunds.where('id', '<', before);
  if (filter.from) void refunds.where('id', '>=', firstTransferIdOf(filter.from));
  // Where the cause does not matter, only those that are shown are looked up.
  if (filter.cause === undefined) void refunds.orderBy('id', 'desc').limit(limit);
  const query = database
    .select<RefundRow[]>(
      'refund.id',
      'refund.created_at',
      'refund.account_id',
      'refund.api_key_id',
      'refund.amount',
      'refund.pending_id as reservation_id',
      'refund.task_id',
      'task.model',
      database.raw(`${CAUSE} AS cause, task.error_message AS message`),
      'task.request_id',
    )
    .from(refunds.as('refund'))
    .joinRaw(WITH_CAUSE)
    .orderBy('refund.id', 'desc')
    .limit(limit);
  if (filter.cause !== undefined) void query.whereRaw(`${CAUSE} = ?`, [filter.cause]);
  const rows = await query;
  return rows.map((row) => readRow(row, { amounts: ['amount'] }));
}
