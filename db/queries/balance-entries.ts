/**
 * Entries of an account's balance: what the ledger says to customers. Each top-up, grant, correction, finished task and charged
 * text request is one entry with one signed amount and the balance after it. Entries are derived from transfers.
 */
import { ENTRY_OF, type EntryType } from '../../domain/ledger.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { TaskKind } from '../../domain/task.ts';
import { type Database, picoUsd } from '../database.ts';
import { CHANGE } from '../ledger-sql.ts';
import type { Period } from '../period.ts';
import { readRow, type RowOf } from '../row.ts';
import { streamPages } from '../stream-pages.ts';

export interface BalanceEntry {
  /** The transfer; of a text request, the first one that charges it. */
  readonly id: string;
  readonly createdAt: Date;
  readonly type: EntryType;
  /** What the entry added to the balance; negative where it took, zero for a task that failed. */
  readonly amount: PicoUsd;
  /** The balance after the entry, held money included; null in a list that leaves entries out. */
  readonly balance: PicoUsd | null;
  readonly apiKeyId: string | null;
  readonly taskId: string | null;
  readonly textRequestId: string | null;
  readonly requestKind: TaskKind | 'text' | null;
  readonly model: string | null;
  /** Why a task failed. */
  readonly errorCode: string | null;
  readonly inputTokens: bigint | null;
  readonly outputTokens: bigint | null;
  /** Of a top-up or a promo grant. */
  readonly reference: string | null;
  /** Of a correction. */
  readonly author: string | null;
  readonly reason: string | null;
}

export interface EntryFilter extends Period {
  readonly accountId: string;
  readonly type?: EntryType | undefined;
  readonly apiKeyId?: string | undefined;
}

/** Where a page ended. */
export type EntryPosition = Pick<BalanceEntry, 'createdAt' | 'id'>;

type EntryRow = Omit<RowOf<BalanceEntry>, 'balance'> & {
  /** The balance after the first row; null where it is not asked for. */
  readonly first_balance: string | null;
};

const TOTAL = `(${CHANGE.available} + ${CHANGE.reserved})`;
const KINDS = Object.entries(ENTRY_OF);
const kindsOf = (type: EntryType | undefined): string =>
  KINDS.filter(([, made]) => type === undefined || made === type)
    .map(([kind]) => `'${kind}'`)
    .join(', ');

/**
 * SQL for the entries of an account, named `entry`. A text request that cost more than was held is one entry: its `excess` has the
 * time of its `charge`, and is a part of it, unless nothing was held.
 */
const entriesOf = (kinds: string): string => /* sql */ `
  SELECT * FROM (
    SELECT transfer.id, transfer.created_at, transfer.opened_at, transfer.kind, transfer.api_key_id, transfer.task_id,
      transfer.text_request_id, transfer.reference, transfer.author, transfer.reason,
      ${TOTAL} - coalesce(beyond.excess, 0) AS amount
    FROM transfers AS transfer
    LEFT JOIN LATERAL (
      SELECT amount AS excess FROM transfers AS other
      WHERE other.text_request_id = transfer.text_request_id AND other.opened_at = transfer.opened_at AND other.kind = 'excess'
    ) AS beyond ON transfer.kind = 'charge'
    WHERE transfer.account_id = :accountId AND transfer.kind IN (${kinds})
      AND (transfer.kind <> 'excess' OR NOT EXISTS (
        SELECT FROM transfers AS other WHERE other.text_request_id = transfer.text_request_id
          AND other.opened_at = transfer.opened_at AND other.kind = 'charge'))
  ) AS entry`;

/**
 * SQL for the balance before a moment, from the sums of days and from what was transferred since: since midnight or, where the
 * sums do not reach, backwards from the balance as it is. Either way it reads the transfers of a day at most.
 */
const balanceBefore = (moment: string): string => /* sql */ `
  CASE WHEN ${moment} >= (SELECT before FROM daily_usage_summed) THEN
    (SELECT funded_available + funded_reserved + signup_available + signup_reserved FROM accounts WHERE id = :accountId)
    - (SELECT coalesce(sum(${TOTAL}), 0) FROM transfers WHERE account_id = :accountId AND created_at >= ${moment})
  ELSE
    (SELECT coalesce(sum(available + reserved), 0) FROM daily_transfers
      WHERE account_id = :accountId AND day < (${moment} AT TIME ZONE 'UTC')::date)
    + (SELECT coalesce(sum(${TOTAL}), 0) FROM transfers WHERE account_id = :accountId
        AND created_at >= date_trunc('day', ${moment}, 'UTC') AND created_at < ${moment})
  END`;

interface EntryPage extends EntryFilter {
  readonly order: 'newest first' | 'oldest first';
  /** The last entry of the page before. */
  readonly after: EntryPosition | undefined;
  readonly limit: number;
  /** Whether the page needs the balance after its first entry. */
  readonly withBalance: boolean;
}

function pageSql({ order, type, apiKeyId, from, to, after, withBalance }: EntryPage): string {
  const direction = order === 'newest first' ? 'DESC' : 'ASC';
  const sorted = `ORDER BY created_at ${direction}, id ${direction}`;
  const conditions = [
    apiKeyId !== undefined && 'api_key_id = :apiKeyId',
    from && 'created_at >= :from',
    to && 'created_at < :to',
    after && `(created_at, id) ${direction === 'DESC' ? '<' : '>'} (:afterTime, :afterId)`,
  ].filter((condition) => typeof condition === 'string');
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return /* sql */ `
    WITH page AS MATERIALIZED (
      ${entriesOf(kindsOf(type))} ${where} ${sorted} LIMIT :limit
    ), first AS MATERIALIZED (
      SELECT created_at, id FROM page ${sorted} LIMIT 1
    )
    SELECT page.id, page.created_at, page.kind AS type, page.amount, page.api_key_id, page.task_id, page.text_request_id,
      coalesce(task.kind, CASE WHEN page.text_request_id IS NOT NULL THEN 'text' END) AS request_kind,
      coalesce(task.model, request.model) AS model, task.error_code, request.input_tokens, request.output_tokens,
      page.reference, page.author, page.reason, ${withBalance ? `(${FIRST_BALANCE})` : 'NULL'} AS first_balance
    FROM page
    LEFT JOIN tasks AS task ON task.id = page.task_id AND task.created_at = page.opened_at
    LEFT JOIN text_requests AS request ON request.id = page.text_request_id
      AND request.created_at BETWEEN page.created_at - interval '31 days' AND page.created_at + interval '1 day'
    ORDER BY page.created_at ${direction}, page.id ${direction}`;
}

/** Of the entries of the same millisecond, those up to the first entry count. */
const FIRST_BALANCE = /* sql */ `
  SELECT ${balanceBefore('first.created_at')} + (
    SELECT coalesce(sum(amount), 0) FROM (${entriesOf(kindsOf(undefined))}) AS same
    WHERE same.created_at = first.created_at AND same.id <= first.id)
  FROM first`;

async function readEntries(database: Database, page: EntryPage): Promise<readonly (BalanceEntry & FirstBalance)[]> {
  const { accountId, apiKeyId, from, to, after, limit } = page;
  const bindings = { accountId, apiKeyId, from, to, afterTime: after?.createdAt, afterId: after?.id, limit };
  const given = Object.fromEntries(Object.entries(bindings).filter(([, value]) => value !== undefined));
  const { rows } = await database.raw<{ rows: (Omit<EntryRow, 'type'> & { type: keyof typeof ENTRY_OF })[] }>(
    pageSql(page),
    given,
  );
  return rows.map((row) => {
    const read = readRow(row, { amounts: ['amount', 'input_tokens', 'output_tokens', 'first_balance'] });
    return { ...read, type: ENTRY_OF[row.type], balance: null };
  });
}

interface FirstBalance {
  readonly firstBalance: PicoUsd | null;
}

/** Whether a list has every entry of its period, so that balances follow from one another. */
function isWhole({ type, apiKeyId }: EntryFilter): boolean {
  return type === undefined && apiKeyId === undefined;
}

/** A page of an account's entries, newest first. @param before the last entry of the page before */
export async function listBalanceEntries(
  database: Database,
  { before, limit, ...filter }: EntryFilter & { readonly before?: EntryPosition | undefined; readonly limit: number },
): Promise<readonly BalanceEntry[]> {
  const withBalance = isWhole(filter);
  const rows = await readEntries(database, { ...filter, order: 'newest first', after: before, limit, withBalance });
  let balance = rows[0]?.firstBalance ?? null;
  return rows.map(({ firstBalance: _first, ...entry }) => {
    const after = balance;
    if (balance !== null) balance -= entry.amount;
    return { ...entry, balance: after };
  });
}

/** All entries of an account in a period, oldest first, read on demand. */
export function streamBalanceEntries(database: Database, filter: EntryFilter): AsyncIterable<BalanceEntry> {
  return streamPages(async (after: BalanceEntry | undefined, limit) => {
    const withBalance = after === undefined && isWhole(filter);
    const rows = await readEntries(database, { ...filter, order: 'oldest first', after, limit, withBalance });
    const [first] = rows;
    const start = first && first.firstBalance !== null ? first.firstBalance - first.amount : null;
    let balance = after?.balance ?? start;
    return rows.map(({ firstBalance: _first, ...entry }) => {
      if (balance !== null) balance += entry.amount;
      return { ...entry, balance };
    });
  });
}

/** What an account has, and what is held of it. */
export interface BalanceWithHolds {
  readonly available: PicoUsd;
  /** For tasks that run. */
  readonly heldByTasks: PicoUsd;
  readonly runningTasks: number;
  /** For text requests in progress, and for those that come next. */
  readonly heldByText: PicoUsd;
}

/** The balance of an account, with its holds apart. */
export async function readBalanceWithHolds(database: Database, accountId: string): Promise<BalanceWithHolds> {
  const { rows } = await database.raw<{
    rows: { available: string; held_by_tasks: string; running_tasks: string; held_by_text: string }[];
  }>(
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
  return {
    available: picoUsd(row.available),
    heldByTasks: picoUsd(row.held_by_tasks),
    runningTasks: Number(row.running_tasks),
    heldByText: picoUsd(row.held_by_text),
  };
}
