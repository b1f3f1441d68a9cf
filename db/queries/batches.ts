/** Batches: see `db/schema/0012-batches.sql`. */
import type { Batch, BatchEndpoint, BatchError, BatchFailures, BatchStatus } from '../../domain/batch.ts';
import { daysAfter } from '../../domain/day.ts';
import { createdAtMsOf, isId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { BATCHES } from '../../domain/policy.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { camelCased, type RowOf } from '../row.ts';
import { lockAccount } from './accounts.ts';

export interface NewBatch {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly requestId: string;
  readonly endpoint: BatchEndpoint;
  readonly inputFileId: string;
  /** The lines of the file. */
  readonly total: number;
  readonly metadata: Batch['metadata'];
  readonly betas: Batch['betas'];
  readonly createdAt: Date;
}

export type Counts = Batch['counts'];
export type BatchRow = RowOf<Omit<Batch, 'counts' | 'metadata' | 'errors'> & Counts> & {
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly errors: readonly BatchError[] | null;
  /** Not of a batch that is in progress: {@link sumBatches} counts its failures. */
  readonly failures: readonly BatchFailures[];
};

/**
 * Inserts a batch; its workflow starts from its row. Waits for other insertions of the account, so that they respect
 * the limit together.
 *
 * @param within makes other changes of the same transaction
 * @returns null if the account would have more batches, or lines of them, than may be in progress
 */
export async function insertBatch(
  database: Database,
  batch: NewBatch,
  within: (transaction: Database, created: Batch) => Promise<void> = async () => {},
): Promise<Batch | null> {
  return database.transaction(async (transaction) => {
    await lockAccount(transaction, batch.accountId);
    const { rows } = await transaction.raw<{ rows: BatchRow[] }>(
      /* sql */ `
      INSERT INTO batches (id, account_id, api_key_id, request_id, endpoint, input_file_id, total, metadata, betas, created_at,
        expires_at)
      SELECT :id, :accountId, :apiKeyId, :requestId, :endpoint, :inputFileId, :total, :metadata::jsonb, :betas, :createdAt::timestamptz,
        :createdAt::timestamptz + make_interval(hours => :hours)
      FROM (SELECT count(*) AS running, coalesce(sum(total), 0) AS lines FROM batches
        WHERE account_id = :accountId AND ended_at IS NULL) AS current
      WHERE running < :maxRunning AND lines + :total <= :maxRunningLines
      RETURNING *`,
      {
        ...batch,
        metadata: batch.metadata === null ? null : JSON.stringify(batch.metadata),
        hours: BATCHES.windowHours,
        maxRunning: BATCHES.maxRunning,
        maxRunningLines: BATCHES.maxRunningLines,
      },
    );
    if (rows[0] === undefined) return null;
    const created = toBatch(rows[0]);
    await within(transaction, created);
    return created;
  });
}

/** Finds a batch of the account with its current counts; null also for a batch of another account. */
export async function findBatch(database: Database, accountId: string, id: string): Promise<Batch | null> {
  if (!isId('batch', id)) return null;
  const row = await database<BatchRow>('batches').where({ id, account_id: accountId }).whereNull('deleted_at').first();
  return row === undefined ? null : onlyRow(await withCounts(database, [toBatch(row)]));
}

interface BatchPage extends IdPage {
  /** By default, batches of all accounts. */
  readonly accountId?: string | undefined;
  /** Selects the batches of an endpoint. */
  readonly endpoint?: BatchEndpoint;
  readonly status?: BatchStatus | undefined;
  /** Selects the oldest batches that are newer than this id. */
  readonly newerThan?: string | undefined;
}

/** Batches that were not deleted, newest first, with their current counts. */
export async function listBatches(
  database: Database,
  { accountId, endpoint, status, newerThan, ...page }: BatchPage,
): Promise<readonly Batch[]> {
  const query = database<BatchRow>('batches').whereNull('deleted_at');
  if (accountId !== undefined) void query.where('account_id', accountId);
  if (endpoint !== undefined) void query.where('endpoint', endpoint);
  if (status !== undefined) void query.where('status', status);
  if (newerThan === undefined) return withCounts(database, (await newestFirst(query, page)).map(toBatch));
  const newer = await query.where('id', '>', newerThan).orderBy('id').limit(page.limit);
  return withCounts(database, newer.toReversed().map(toBatch));
}

/** Hides a final batch from its account. @returns false if the account has no such final batch */
export async function deleteBatch(database: Database, accountId: string, id: string): Promise<boolean> {
  const deleted = await database('batches')
    .where({ id, account_id: accountId })
    .whereNotNull('ended_at')
    .whereNull('deleted_at')
    .update({ deleted_at: database.fn.now() });
  return deleted > 0;
}

/** Makes no further line start. A batch that is finalizing or final does not change. */
export async function cancelBatch(database: Database, accountId: string, id: string): Promise<void> {
  await cancelWhere(database, { id, account_id: accountId });
}

/** As {@link cancelBatch}, for all batches of the account. */
export async function cancelBatches(database: Database, accountId: string): Promise<void> {
  await cancelWhere(database, { account_id: accountId });
}

async function cancelWhere(
  database: Database,
  batches: { readonly account_id: string; readonly id?: string },
): Promise<void> {
  await database('batches')
    .where(batches)
    .whereIn('status', ['validating', 'in_progress'])
    .update({ status: 'cancelling', cancelling_at: database.raw('clock_timestamp()') });
}

/** Counts the lines of batches that are not final. */
export async function withCounts(database: Database, batches: readonly Batch[]): Promise<readonly Batch[]> {
  const running = batches.filter(({ endedAt }) => endedAt === null);
  if (running.length === 0) return batches;
  const { rows } = await database.raw<{ rows: ({ readonly id: string } & Omit<Counts, 'total'>)[] }>(
    /* sql */ `
    SELECT batch_id AS id, ${COUNTS_OF_LINES} FROM batch_lines WHERE batch_id = ANY (:ids) GROUP BY batch_id`,
    { ids: running.map(({ id }) => id) },
  );
  const countsById = new Map(rows.map(({ id, ...counts }) => [id, counts]));
  return batches.map((batch) => ({ ...batch, counts: { ...batch.counts, ...countsById.get(batch.id) } }));
}

/** SQL for the counts of final lines among the rows of `batch_lines`. */
export const COUNTS_OF_LINES = ['succeeded', 'failed', 'expired', 'cancelled']
  .map((status) => `count(*) FILTER (WHERE status = '${status}')::integer AS ${status}`)
  .join(', ');

export function toBatch(row: BatchRow): Batch {
  const { total, succeeded, failed, expired, cancelled, failures: _failures, ...batch } = camelCased(row);
  return { ...batch, counts: { total, succeeded, failed, expired, cancelled } };
}

/** The money that is held for text requests of the keys of batches, by the id of the key. */
export async function sumHolds(
  database: Database,
  batches: readonly Pick<Batch, 'accountId' | 'apiKeyId'>[],
): Promise<ReadonlyMap<string, PicoUsd>> {
  const rows = await database('text_allowances')
    .whereIn('account_id', [...new Set(batches.map(({ accountId }) => accountId))])
    .whereIn('api_key_id', [...new Set(batches.map(({ apiKeyId }) => apiKeyId))])
    .groupBy('api_key_id')
    .select<{ id: string; held: string }[]>('api_key_id AS id', database.raw('sum(amount)::text AS held'));
  return new Map(rows.map(({ id, held }) => [id, BigInt(held)]));
}

/** The text requests or tasks of a batch so far. */
export interface BatchSums {
  readonly charged: PicoUsd;
  /** The failed lines whose request was made, by the code of its error, the most frequent first. */
  readonly errors: readonly BatchFailures[];
}

/**
 * SQL for the failures of a row of `batches` from its lines. A request that was made again, and a line that an operator
 * retried, count once: a line refers to its last request.
 */
export const FAILURES_OF_LINES = /* sql */ `
  (SELECT coalesce(jsonb_agg(jsonb_build_object('code', code, 'count', count) ORDER BY count DESC, code), '[]')
  FROM (
    SELECT coalesce(request.error_code, task.error_code) AS code, count(*)::integer AS count
    FROM batch_lines AS line
    LEFT JOIN text_requests AS request ON request.account_id = batches.account_id AND request.batch_id = line.batch_id
      AND request.created_at >= batches.created_at - interval '1 day' AND request.outcome = 'failed'
      AND request.request_id = line.request_id
    LEFT JOIN tasks AS task ON task.account_id = batches.account_id AND task.id = line.task_id
      AND task.created_at >= batches.created_at - interval '1 day'
    WHERE line.batch_id = batches.id AND line.status = 'failed'
    GROUP BY 1) AS kinds
  WHERE code IS NOT NULL)`;

export const NO_BATCH_SUMS: BatchSums = { charged: 0n, errors: [] };

/** The day before the batch: the clock of the process that created it may be ahead of those that run its lines. */
export function earliestRequestOf(batchId: string): Date {
  return daysAfter(new Date(createdAtMsOf('batch', batchId)), -1);
}

/** Adds up the text requests and tasks of batches, by the id of the batch. */
export async function sumBatches(
  database: Database,
  batches: readonly Pick<Batch, 'id' | 'accountId'>[],
): Promise<ReadonlyMap<string, BatchSums>> {
  const { rows } = await database.raw<{ rows: { id: string; charged: string; errors: BatchSums['errors'] }[] }>(
    /* sql */ `
    SELECT id, coalesce(charged, 0)::text AS charged,
      CASE WHEN ended_at IS NULL THEN ${FAILURES_OF_LINES} ELSE failures END AS errors
    FROM batches LEFT JOIN (
      SELECT batch_id, sum(charged) AS charged FROM (
        SELECT batch_id, charge - absorbed AS charged FROM text_requests
        WHERE batch_id = ANY (:ids) AND account_id = ANY (:accountIds) AND created_at >= :from
        UNION ALL
        SELECT batch_id, price FROM tasks
        WHERE batch_id = ANY (:ids) AND account_id = ANY (:accountIds) AND created_at >= :from AND status = 'succeeded'
      ) AS charge GROUP BY batch_id) AS charges ON charges.batch_id = batches.id
    WHERE id = ANY (:ids) AND account_id = ANY (:accountIds)`,
    {
      ids: batches.map(({ id }) => id),
      accountIds: batches.map(({ accountId }) => accountId),
      from: new Date(Math.min(...batches.map(({ id }) => earliestRequestOf(id).getTime()), Date.now())),
    },
  );
  return new Map(rows.map(({ id, charged, errors }) => [id, { charged: BigInt(charged), errors }]));
}
