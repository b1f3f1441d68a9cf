/** Jobs at the batch APIs of vendors: see `db/schema/0012-batches.sql`. */
import type { BatchRemainder } from '../../domain/batch.ts';
import type { TextPricing } from '../../domain/pricing.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { type Database, isDatabaseError, UNIQUE_VIOLATION } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import { type ClaimedLine, contentId } from './batch-lines.ts';
import { parseStoredPricing, type StoredPricing, toStored } from './rate-cards.ts';

/** A job to record before it is sent. */
export interface NewBatchJob {
  readonly id: string;
  readonly batchId: string;
  readonly model: string;
  readonly upstream: string;
  readonly upstreamFormat: UpstreamFormatName;
  readonly upstreamModel: string;
  readonly keyDigest: string;
  readonly remainder: BatchRemainder;
  /** A decimal number. */
  readonly costFactor: string;
  readonly createdAt: Date;
}

/** The prices by which the lines of a job are charged. */
export interface JobPrices {
  readonly catalogueVersion: string;
  readonly priceList: string | null;
  readonly pricing: TextPricing;
}

/** A job that has not ended. */
export interface BatchJob extends NewBatchJob {
  /** Null before the money of its lines is held. */
  readonly prices: JobPrices | null;
  /** Null before the job is sent. */
  readonly sentAt: Date | null;
  /** Null while the vendor has not confirmed the job. */
  readonly vendorId: string | null;
  readonly cancelledAt: Date | null;
  readonly misses: number;
  readonly nextPollAt: Date;
}

/** `collected`: its answers were read. `refused`: by the vendor. `not_taken`: the vendor has no such job. `lost`: given up. */
export type BatchJobOutcome = 'collected' | 'refused' | 'not_taken' | 'lost';

/** The money that a job holds for a line, in pico-USD. */
export interface LineHold {
  readonly textRequestId: string;
  readonly allowanceId: string;
  readonly signup: string;
  readonly funded: string;
}

/** A line of a job that has no answer yet. */
export interface JobLine {
  readonly number: number;
  readonly attempt: number;
  readonly hold: LineHold;
}

interface JobRow extends Omit<RowOf<BatchJob>, 'prices'> {
  readonly catalogue_version: string | null;
  readonly price_list: string | null;
  readonly pricing: StoredPricing | null;
  readonly ended_at: Date | null;
}

/** The lines that wait for a job. */
const WAITS_FOR_JOB = `status = 'waiting' AND job_id IS NULL AND NOT runs_directly`;

/** The model of the next line that waits for a job; null if none waits. */
export async function findNextJobModel(
  database: Database,
  batchId: string,
  models: readonly string[],
): Promise<string | null> {
  if (models.length === 0) return null;
  const { rows } = await database.raw<{ rows: { model: string }[] }>(
    `SELECT model FROM batch_lines WHERE batch_id = :batchId AND ${WAITS_FOR_JOB} AND model = ANY (:models::text[])
     ORDER BY number LIMIT 1`,
    { batchId, models },
  );
  return rows[0]?.model ?? null;
}

/**
 * Records a job with a new attempt of the next lines of its model. An earlier attempt can then no longer answer them.
 *
 * @returns the lines; empty, without a job, if none waits
 */
export async function insertBatchJob(
  database: Database,
  job: NewBatchJob,
  { lines, bytes }: { readonly lines: number; readonly bytes: number },
): Promise<readonly ClaimedLine[]> {
  const { id, batchId, model } = job;
  return database.transaction(async (transaction) => {
    await transaction('batch_jobs').insert(columnsOf(job));
    const { rows } = await transaction.raw<{ rows: RowOf<ClaimedLine>[] }>(
      /* sql */ `
      WITH next AS MATERIALIZED (
        SELECT line.number, content.id, row_number() OVER (ORDER BY line.number) AS place,
          sum(octet_length(content.encrypted_content)) OVER (ORDER BY line.number) AS total
        FROM (SELECT batch_id, number FROM batch_lines
          WHERE batch_id = :batchId AND ${WAITS_FOR_JOB} AND model = :model
          ORDER BY number LIMIT :lines FOR NO KEY UPDATE) AS line
        JOIN batch_contents AS content ON content.id = line.batch_id || '/' || lpad(line.number::text, 5, '0') || '/000'),
      claimed AS (
        UPDATE batch_lines AS line SET attempt = line.attempt + 1, job_id = :id FROM next
        WHERE line.batch_id = :batchId AND line.number = next.number AND (total <= :bytes OR place = 1)
        RETURNING line.number, line.attempt, next.id)
      SELECT number, attempt, encrypted_content AS encrypted_request
      FROM claimed JOIN batch_contents USING (id) ORDER BY number`,
      { id, batchId, model, lines, bytes },
    );
    if (rows.length === 0) await transaction('batch_jobs').where({ id }).delete();
    return rows.map(camelCased);
  });
}

/** Records the money of the lines of a job, and its prices. */
export async function recordJobHolds(
  database: Database,
  { id, batchId }: Pick<BatchJob, 'id' | 'batchId'>,
  { catalogueVersion, priceList, pricing }: JobPrices,
  lines: readonly { readonly number: number; readonly hold: LineHold }[],
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.raw(
      /* sql */ `
      UPDATE batch_lines AS line SET hold = held.hold
      FROM unnest(:numbers::integer[], :holds::jsonb[]) AS held(number, hold)
      WHERE batch_id = :batchId AND job_id = :id AND line.number = held.number`,
      {
        id,
        batchId,
        numbers: lines.map(({ number }) => number),
        holds: lines.map(({ hold }) => JSON.stringify(hold)),
      },
    );
    await transaction('batch_jobs')
      .where({ id })
      .update({
        catalogue_version: catalogueVersion,
        price_list: priceList,
        pricing: JSON.stringify(toStored(pricing)),
      });
  });
}

/**
 * Takes lines without an answer out of a job.
 *
 * @param numbers all lines by default
 * @param direct whether they run as direct requests from now on, instead of waiting for another job
 * @param isCalled whether the vendor may have them; otherwise, their attempt does not count
 */
export async function freeJobLines(
  database: Database,
  { id, batchId }: Pick<BatchJob, 'id' | 'batchId'>,
  {
    numbers,
    direct,
    isCalled,
  }: { readonly numbers?: readonly number[]; readonly direct: boolean; readonly isCalled: boolean },
): Promise<void> {
  const query = database('batch_lines').where({ batch_id: batchId, job_id: id, status: 'waiting' });
  if (numbers !== undefined) void query.whereIn('number', [...numbers]);
  await query.update({
    job_id: null,
    hold: null,
    ...(direct && { runs_directly: true }),
    ...(!isCalled && { attempt: database.raw('attempt - 1') }),
  });
}

/** @throws Error if another process has ended the job, or sent it */
export async function recordJobSent(database: Database, id: string): Promise<void> {
  const sent = await database('batch_jobs')
    .where({ id, sent_at: null, ended_at: null })
    .update({ sent_at: database.raw('clock_timestamp()') });
  if (sent === 0) throw new Error(`the job ${id} was ended by another process`);
}

/** @returns false if the job has ended, or the vendor's job belongs to another */
export async function recordJobAccepted(database: Database, id: string, vendorId: string): Promise<boolean> {
  try {
    const changed = await database('batch_jobs')
      .where({ id, ended_at: null })
      .update({ vendor_id: vendorId, misses: 0, next_poll_at: database.raw('now()') });
    return changed > 0;
  } catch (error) {
    if (isDatabaseError(error, UNIQUE_VIOLATION)) return false;
    throw error;
  }
}

export async function postponeJob(
  database: Database,
  id: string,
  {
    seconds,
    misses,
    cancelled = false,
  }: { readonly seconds: number; readonly misses: number; readonly cancelled?: boolean },
): Promise<void> {
  await database('batch_jobs')
    .where({ id })
    .update({
      misses,
      next_poll_at: database.raw('now() + make_interval(secs => :seconds)', { seconds }),
      ...(cancelled && { cancelled_at: database.raw('coalesce(cancelled_at, clock_timestamp())') }),
    });
}

/** Ends a job, and takes the lines that have no answer out of it. @param direct as in {@link freeJobLines} */
export async function endJob(
  database: Database,
  job: Pick<BatchJob, 'id' | 'batchId'>,
  { outcome, direct }: { readonly outcome: BatchJobOutcome; readonly direct: boolean },
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction('batch_jobs')
      .where({ id: job.id, ended_at: null })
      .update({ outcome, ended_at: transaction.raw('clock_timestamp()') });
    await freeJobLines(transaction, job, { direct, isCalled: outcome !== 'not_taken' });
    // A failed line that an operator retries belongs to no job.
    await transaction('batch_lines')
      .where({ batch_id: job.batchId, job_id: job.id })
      .update({ job_id: null, hold: null });
  });
}

export async function listOpenJobs(database: Database, batchId: string): Promise<readonly BatchJob[]> {
  const rows = await database<JobRow>('batch_jobs').where({ batch_id: batchId, ended_at: null }).orderBy('created_at');
  return rows.map(({ catalogue_version: version, price_list: priceList, pricing, ...row }) => ({
    ...camelCased(row),
    prices:
      version === null || pricing === null
        ? null
        : { catalogueVersion: version, priceList, pricing: parseStoredPricing(pricing) },
  }));
}

/** Finds which of a vendor's ids belong to jobs. */
export async function findKnownJobs(
  database: Database,
  upstream: string,
  vendorIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const ids = await database<JobRow>('batch_jobs')
    .where({ upstream })
    .whereIn('vendor_id', [...vendorIds])
    .pluck<string[]>('vendor_id');
  return new Set(ids);
}

/** The lines of a job that have no answer. */
export async function listJobLines(
  database: Database,
  { id, batchId }: Pick<BatchJob, 'id' | 'batchId'>,
): Promise<readonly JobLine[]> {
  return database('batch_lines')
    .where({ batch_id: batchId, job_id: id, status: 'waiting' })
    .whereNotNull('hold')
    .orderBy('number')
    .select<JobLine[]>('number', 'attempt', 'hold');
}

export async function findEncryptedRequest(database: Database, batchId: string, number: number): Promise<Buffer> {
  const row = await database<{ id: string; encrypted_content: Buffer }>('batch_contents')
    .where({ id: contentId(batchId, number, 0) })
    .first('encrypted_content');
  if (row === undefined) throw new Error(`line ${number} of ${batchId} has no request`);
  return row.encrypted_content;
}
