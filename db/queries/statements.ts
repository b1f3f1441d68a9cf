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
import { reasonSql } from '../reason-sql.ts';

export interface AccountBalances {
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

/** For each balance, opening plus activity equals closing. */
export interface Statement {
  readonly opening: AccountBalances;
  readonly activity: readonly Activity[];
  readonly closing: AccountBalances;
}

type PeriodRow = RowOf<Activity, 'transfers'> & { readonly part: 'before' | 'within' };

/**
 * Reads the statement of an account over a period of days: sums by day, and only the transfers since the last sum. The
 * sums stay when a month is detached, so its statements stay available.
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

/** Reads the statements of several accounts by their ids: see {@link readStatement}. */
export async function readStatements(
  database: Database,
  period: { accountIds: readonly string[]; from: Date; to: Date },
): Promise<ReadonlyMap<string, Statement>> {
  const { rows } = await database.raw<{ rows: (PeriodRow & { account_id: string })[] }>(STATEMENTS, period);
  const ofAccount = (id: string) => toStatement(rows.filter(({ account_id: accountId }) => accountId === id));
  return new Map(period.accountIds.map((id) => [id, ofAccount(id)]));
}

/** Reads the statement of all accounts together: see {@link readStatement}. */
export async function readStatementOfAll(database: Database, period: { from: Date; to: Date }): Promise<Statement> {
  const { rows } = await database.raw<{ rows: PeriodRow[] }>(statementOf('true'), period);
  return toStatement(rows);
}

function toStatement(rows: readonly PeriodRow[]): Statement {
  const activity = rows.filter(({ part }) => part === 'within').map(toActivity);
  const opening = sumOf(rows.filter(({ part }) => part === 'before').map(toActivity));
  return { opening, activity, closing: sumOf([opening, ...activity]) };
}

/** One statement reads sums and rows, so that nothing is missing or counted twice. */
const statementOf = (accounts: string, key = 'NULL AS account_id'): string => /* sql */ `
  SELECT ${key}, CASE WHEN day < (CAST(:from AS timestamptz) AT TIME ZONE 'UTC')::date THEN 'before' ELSE 'within' END AS part,
    kind, sum(transfers) AS transfers, sum(available) AS available, sum(reserved) AS reserved
  FROM (
    SELECT * FROM daily_transfers
    WHERE ${accounts} AND day < (CAST(:to AS timestamptz) AT TIME ZONE 'UTC')::date
    UNION ALL
    ${sumTransfersWhere(`${accounts} AND created_at >= (SELECT before FROM daily_usage_summed) AND created_at < :to`)}
  ) AS summed
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
export const STATEMENT = statementOf('account_id = :accountId');
const STATEMENTS = statementOf('account_id = ANY(:accountIds)', 'account_id');

function toActivity({ kind, transfers, available, reserved }: PeriodRow): Activity {
  return { kind, transfers: Number(transfers), available: picoUsd(available), reserved: picoUsd(reserved) };
}

function sumOf(balances: readonly AccountBalances[]): AccountBalances {
  return balances.reduce(
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
  /** Only refunds for this cause. */
  readonly cause?: string | undefined;
}

/** The sum of the refunds for one cause. */
export interface RefundSum {
  /** Null for refunds without a known cause. */
  readonly cause: string | null;
  readonly refunds: number;
  readonly amount: PicoUsd;
}

/** SQL for the cause of a refund: why its task failed. */
const CAUSE = reasonSql('task');
const WITH_CAUSE = /* sql */ `
  LEFT JOIN tasks AS task ON task.id = refund.task_id AND task.created_at = refund.opened_at`;

/**
 * Sums all refunds by cause, the highest sum first. Reads only indexes of refunds and failures.
 */
export async function sumRefunds(database: Database, filter: RefundFilter): Promise<readonly RefundSum[]> {
  const startPeriod = startedBefore(filter.from);
  const tasks = database('tasks').where('status', 'failed').select('id', 'created_at', 'error_code', 'cancelled_by');
  createdIn(tasks, startPeriod);
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

/** The period in which a request that was refunded since `from` can have started. Excludes earlier partitions. */
function startedBefore(from: Date | undefined): Period {
  return from ? { from: new Date(from.getTime() - MAX_CHAIN_MS) } : {};
}

function refundsIn(database: Database, { accountId, from, to }: RefundFilter): Knex.QueryBuilder {
  const refunds = database('transfers').where(columnsOf({ kind: 'refund', accountId }));
  createdIn(refunds, { from, to });
  createdIn(refunds, startedBefore(from), 'opened_at');
  return refunds;
}

/** Streams all refunds, newest first. */
export function streamRefunds(database: Database, filter: RefundFilter): AsyncIterable<Refund> {
  return streamPages((after, limit) => listRefunds(database, { ...filter, before: after?.id, limit }));
}

/** Lists a page of refunds of all accounts or one, newest first. @param before the previous page's last refund id */
export async function listRefunds(
  database: Database,
  { before, limit, ...filter }: RefundFilter & IdPage,
): Promise<readonly Refund[]> {
  const refunds = refundsIn(database, filter);
  if (before !== undefined) void refunds.where('id', '<', before);
  if (filter.from) void refunds.where('id', '>=', firstTransferIdOf(filter.from));
  // Without a filter by cause, looks up the tasks of only the refunds on the page.
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
  if (filter.cause !== undefined) void query.whereRaw(`${CAUSE} = :cause`, { cause: filter.cause });
  const rows = await query;
  return rows.map((row) => readRow(row, { amounts: ['amount'] }));
}
