/**
 * Entries of an account's balance: the ledger as customers see it. Each top-up, grant, correction, final task and
 * charged text request is one entry with one signed amount and the balance after it. Entries are derived from
 * transfers.
 */
import { ENTRY_OF, type EntryType } from '../../domain/ledger.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { type TaskKind, type FailureReason } from '../../domain/task.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { BALANCE, CHANGE } from '../ledger-sql.ts';
import type { Period } from '../period.ts';
import { readRow, type RowOf } from '../row.ts';
import { streamPages } from '../stream-pages.ts';
import { reasonSql } from '../reason-sql.ts';

export interface BalanceEntry {
  /** The id of the transfer; for a text request, of the first transfer that charges it. */
  readonly id: string;
  readonly createdAt: Date;
  readonly type: EntryType;
  /** The amount that the entry added to the balance; negative if it took money, zero for a failed task. */
  readonly amount: PicoUsd;
  /** The balance after the entry, held money included; null in a filtered list. */
  readonly balance: PicoUsd | null;
  readonly apiKeyId: string | null;
  readonly taskId: string | null;
  readonly textRequestId: string | null;
  readonly requestKind: TaskKind | 'text' | null;
  readonly model: string | null;
  /** The error code of a failed task. */
  readonly errorCode: string | null;
  /** Why a task failed; null if it did not. */
  readonly failureReason: FailureReason | null;
  readonly inputTokens: bigint | null;
  readonly outputTokens: bigint | null;
  /** The reference of a top-up, a promo grant, the signup credit of a registration, or a returned payment. */
  readonly reference: string | null;
  /** The author of a correction. */
  readonly author: string | null;
  readonly reason: string | null;
}

export interface EntryFilter extends Period {
  readonly accountId: string;
  readonly type?: EntryType | undefined;
  readonly apiKeyId?: string | undefined;
}

/** The last entry of a page. */
export type EntryPosition = Pick<BalanceEntry, 'createdAt' | 'id'>;

type EntryRow = Omit<RowOf<BalanceEntry>, 'type' | 'balance'> & { readonly kind: keyof typeof ENTRY_OF };

const TOTAL = `(${CHANGE.available} + ${CHANGE.reserved})`;
const KINDS = Object.entries(ENTRY_OF);
const kindsOf = (type: EntryType | undefined): string =>
  KINDS.filter(([, made]) => type === undefined || made === type)
    .map(([kind]) => `'${kind}'`)
    .join(', ');

/** The period allows for clocks of processes that differ from the database's. */
const TEXT_REQUEST = /* sql */ `
  SELECT model, input_tokens, output_tokens, held, excess FROM text_requests
  WHERE id = transfer.text_request_id
    AND created_at BETWEEN transfer.created_at - interval '31 days' AND transfer.created_at + interval '1 day' OFFSET 0`;

interface EntryPage extends EntryFilter {
  readonly order: 'newest first' | 'oldest first';
  /** The last entry of the previous page. */
  readonly after: EntryPosition | undefined;
  readonly limit: number;
}

/**
 * Returns SQL for a page of entries. A text request whose charge exceeds its hold is one entry: its `excess` has the
 * time of its `charge` and belongs to the same entry. Without a hold, the `excess` is the entry.
 */
function pageSql({ order, type, apiKeyId, from, to, after }: EntryPage): string {
  const direction = order === 'newest first' ? 'DESC' : 'ASC';
  const conditions = [
    'transfer.account_id = :accountId',
    `transfer.kind IN (${kindsOf(type)})`,
    `(transfer.kind <> 'excess' OR coalesce(request.held, 0) = 0)`,
    apiKeyId !== undefined && 'transfer.api_key_id = :apiKeyId',
    from && 'transfer.created_at >= :from',
    to && 'transfer.created_at < :to',
    after && `(transfer.created_at, transfer.id) ${direction === 'DESC' ? '<' : '>'} (:afterTime, :afterId)`,
  ].filter((condition) => typeof condition === 'string');
  return /* sql */ `
    WITH page AS MATERIALIZED (
      SELECT transfer.*, request.model, request.input_tokens, request.output_tokens,
        ${TOTAL} - CASE transfer.kind WHEN 'charge' THEN coalesce(request.excess, 0) ELSE 0 END AS change
      FROM transfers AS transfer LEFT JOIN LATERAL (${TEXT_REQUEST}) AS request ON true
      WHERE ${conditions.join(' AND ')}
      ORDER BY transfer.created_at ${direction}, transfer.id ${direction} LIMIT :limit
    )
    SELECT page.id, page.created_at, page.kind, page.change AS amount, page.api_key_id, page.task_id, page.text_request_id,
      coalesce(task.kind, CASE WHEN page.text_request_id IS NOT NULL THEN 'text' END) AS request_kind,
      coalesce(task.model, page.model) AS model, task.error_code, ${reasonSql('task')} AS failure_reason, page.input_tokens, page.output_tokens,
      page.reference, page.author, page.reason
    FROM page LEFT JOIN tasks AS task ON task.id = page.task_id AND task.created_at = page.opened_at
    ORDER BY page.created_at ${direction}, page.id ${direction}`;
}

async function readEntries(database: Database, page: EntryPage): Promise<readonly BalanceEntry[]> {
  const { accountId, apiKeyId, from, to, after, limit } = page;
  const bindings = { accountId, apiKeyId, from, to, afterTime: after?.createdAt, afterId: after?.id, limit };
  const given = Object.fromEntries(Object.entries(bindings).filter(([, value]) => value !== undefined));
  const { rows } = await database.raw<{ rows: EntryRow[] }>(pageSql(page), given);
  return rows.map((row) => {
    const { kind, ...entry } = readRow(row, { amounts: ['amount', 'input_tokens', 'output_tokens'] });
    return { ...entry, type: ENTRY_OF[kind], balance: null };
  });
}

/** All transfers of a chain are in the partition of the chain's start. */
const OPENED = `opened_at >= CAST(:since AS timestamptz) - interval '31 days'`;

/**
 * The balance of an account before a moment, held money included: computed from the sums by day and the transfers since
 * midnight or, after the last sum, backwards from the current balance. Both read the transfers of at most about a day.
 */
async function readBalanceBefore(database: Database, accountId: string, moment: Date): Promise<PicoUsd> {
  const summed = await database<{ before: Date }>('daily_usage_summed').first('before');
  const isSummed = summed !== undefined && moment < summed.before;
  const midnight = new Date(moment);
  midnight.setUTCHours(0, 0, 0, 0);
  const { rows } = await database.raw<{ rows: { balance: string }[] }>(isSummed ? SUMMED_BALANCE : PRESENT_BALANCE, {
    accountId,
    moment,
    since: isSummed ? midnight : moment,
  });
  return picoUsd(onlyRow(rows).balance);
}

const SUMMED_BALANCE = /* sql */ `
  SELECT (SELECT coalesce(sum(available + reserved), 0) FROM daily_transfers
      WHERE account_id = :accountId AND day < (CAST(:since AS timestamptz) AT TIME ZONE 'UTC')::date)
    + (SELECT coalesce(sum(${TOTAL}), 0) FROM transfers
      WHERE account_id = :accountId AND created_at >= :since AND created_at < :moment AND ${OPENED} AND opened_at < :moment)
    AS balance`;
const PRESENT_BALANCE = /* sql */ `
  SELECT (SELECT ${BALANCE} FROM accounts WHERE id = :accountId)
    - (SELECT coalesce(sum(${TOTAL}), 0) FROM transfers
      WHERE account_id = :accountId AND created_at >= :moment AND ${OPENED}) AS balance`;

/**
 * The balance after the first entry of a page, newest first. If all entries of the page have the same time, reads the
 * other entries of that time.
 */
async function readFirstBalance(
  database: Database,
  filter: EntryFilter,
  rows: readonly BalanceEntry[],
): Promise<PicoUsd | null> {
  const [first] = rows;
  if (!first) return null;
  const { accountId } = filter;
  const at = first.createdAt.getTime();
  let atOnce = rows.filter(({ createdAt }) => createdAt.getTime() === at);
  if (atOnce.length === rows.length) {
    const moment = { from: first.createdAt, to: new Date(at + 1) };
    atOnce = [];
    for await (const entry of streamEntries(database, { accountId, ...moment }, null)) {
      if (entry.id <= first.id) atOnce.push(entry);
    }
  }
  const before = await readBalanceBefore(database, accountId, first.createdAt);
  return atOnce.reduce((balance, { amount }) => balance + amount, before);
}

/** Whether a list has every entry of its period, so that each balance follows from the previous one. */
function isWhole({ type, apiKeyId }: EntryFilter): boolean {
  return type === undefined && apiKeyId === undefined;
}

/** Lists a page of an account's entries, newest first. @param before the last entry of the previous page */
export async function listBalanceEntries(
  database: Database,
  { before, limit, ...filter }: EntryFilter & { readonly before?: EntryPosition | undefined; readonly limit: number },
): Promise<readonly BalanceEntry[]> {
  const rows = await readEntries(database, { ...filter, order: 'newest first', after: before, limit });
  let balance = isWhole(filter) ? await readFirstBalance(database, filter, rows) : null;
  return rows.map((entry) => {
    const after = balance;
    if (balance !== null) balance -= entry.amount;
    return { ...entry, balance: after };
  });
}

/** Streams all entries of an account in a period, oldest first. */
export async function* streamBalanceEntries(database: Database, filter: EntryFilter): AsyncIterable<BalanceEntry> {
  const [first] = isWhole(filter)
    ? await readEntries(database, { ...filter, order: 'oldest first', after: undefined, limit: 1 })
    : [];
  const start = first ? await readBalanceBefore(database, filter.accountId, first.createdAt) : null;
  yield* streamEntries(database, filter, start);
}

/** @param start the balance before the first entry; null for entries without balances */
async function* streamEntries(
  database: Database,
  filter: EntryFilter,
  start: PicoUsd | null,
): AsyncIterable<BalanceEntry> {
  let balance = start;
  const entries = streamPages((after: BalanceEntry | undefined, limit) =>
    readEntries(database, { ...filter, order: 'oldest first', after, limit }),
  );
  for await (const entry of entries) {
    if (balance !== null) balance += entry.amount;
    yield { ...entry, balance };
  }
}

/** The credit of an account, and the part of it that is held. */
export interface BalanceWithHolds {
  readonly available: PicoUsd;
  /** Held for running tasks. */
  readonly heldByTasks: PicoUsd;
  readonly runningTasks: number;
  /** Held for text requests in progress and for the next ones. */
  readonly heldByText: PicoUsd;
}

/** Reads the balance of an account, with its holds listed separately. */
export async function readBalanceWithHolds(database: Database, accountId: string): Promise<BalanceWithHolds> {
  const { rows } = await database.raw<{ rows: RowOf<BalanceWithHolds, 'runningTasks'>[] }>(
    /* sql */ `
    SELECT funded_available + signup_available AS available, running.price AS held_by_tasks, running.tasks AS running_tasks,
      funded_reserved + signup_reserved - running.price AS held_by_text
    FROM accounts, LATERAL (
      SELECT count(*) AS tasks, coalesce(sum(price), 0) AS price FROM tasks
      WHERE account_id = accounts.id AND status IN ('queued', 'processing')
    ) AS running
    WHERE accounts.id = :accountId`,
    { accountId },
  );
  const [row] = rows;
  if (!row) throw new Error(`there is no account ${accountId}`);
  return readRow(row, { counts: ['running_tasks'], amounts: ['available', 'held_by_tasks', 'held_by_text'] });
}
