/** The steps of the workflow of a batch. Each can be repeated. */
import type { Batch, BatchEnding, BatchEndpoint, BatchError } from '../../domain/batch.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { BATCH_EVENT, type BatchEvent, renderEvent } from '../../domain/webhook-event.ts';
import { type Database, onlyRow } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import { type BatchRow, type Counts, COUNTS_OF_LINES, FAILURES_OF_LINES, toBatch } from './batches.ts';
import { hasWaitingLines, IS_PREPARING } from './batch-lines.ts';
import { insertEvent } from './events.ts';

/** A batch whose workflow must run. */
export interface BatchToStart {
  readonly id: string;
  readonly accountId: string;
  readonly endpoint: BatchEndpoint;
}

/** The relay asks Temporal again so often whether the workflow of a batch runs. */
const START_AGAIN_SECONDS = 300;

const CAN_RUN = `status = 'in_progress' AND expires_at > now()`;

/** Finds a batch of any account. */
export async function findAnyBatch(database: Database, id: string): Promise<Batch | null> {
  const row = await database<BatchRow>('batches').where({ id }).first();
  return row === undefined ? null : toBatch(row);
}

/** Finds a batch whose input was not read completely; null for any other. */
export async function findPreparingBatch(database: Database, id: string): Promise<Batch | null> {
  const row = await database<BatchRow>('batches').where({ id }).whereRaw(IS_PREPARING).first();
  return row === undefined ? null : toBatch(row);
}

/** Finds a batch whose lines may start; null for any other. */
export async function findRunningBatch(database: Database, id: string): Promise<Batch | null> {
  const row = await database<BatchRow>('batches').where({ id }).whereRaw(CAN_RUN).first();
  return row === undefined ? null : toBatch(row);
}

/** Claims batches that are not final, and whose workflow nobody has started lately. */
export async function claimBatchesToStart(database: Database, limit: number): Promise<readonly BatchToStart[]> {
  const { rows } = await database.raw<{ rows: RowOf<BatchToStart>[] }>(
    /* sql */ `
    UPDATE batches SET next_start_at = now() + make_interval(secs => :seconds) WHERE id = ANY (ARRAY(
      SELECT id FROM batches WHERE ended_at IS NULL AND next_start_at <= now()
      ORDER BY next_start_at LIMIT :limit FOR UPDATE SKIP LOCKED))
    RETURNING id, account_id, endpoint`,
    { limit, seconds: START_AGAIN_SECONDS },
  );
  return rows.map(camelCased);
}

/** The ids of batches that are not final. */
export async function findUnfinishedBatches(database: Database): Promise<readonly string[]> {
  const rows = await database<BatchRow>('batches').whereNull('ended_at').orderBy('id').select('id');
  return rows.map(({ id }) => id);
}

/** Lets the relay start the workflows of batches at once. */
export async function makeBatchesDue(database: Database, ids: readonly string[]): Promise<void> {
  await database('batches').whereIn('id', ids).whereNull('ended_at').update({ next_start_at: database.fn.now() });
}

/** Makes batches due again whose workflow could not be started. */
export async function deferBatchStart(database: Database, id: string, seconds: number): Promise<void> {
  await database('batches')
    .where({ id })
    .update({ next_start_at: database.raw('now() + make_interval(secs => :seconds)', { seconds: seconds }) });
}

/** Lets the lines of a batch start. Has no effect on a batch that is not `validating`. */
export async function startBatch(database: Database, id: string): Promise<void> {
  await database('batches')
    .where({ id, status: 'validating' })
    .update({ status: 'in_progress', in_progress_at: database.raw('clock_timestamp()') });
}

/** Records why no line can start, with its event. Has no effect on a batch that is paused. */
export async function pauseBatch(database: Database, id: string, reason: ErrorCode): Promise<void> {
  await database.transaction(async (transaction) => {
    const rows = await transaction<BatchRow>('batches')
      .where({ id, status: 'in_progress', paused_reason: null, operator_paused_at: null })
      .update({ paused_reason: reason, paused_at: transaction.raw('clock_timestamp()') })
      .returning('*');
    if (rows[0] !== undefined) await insertBatchEvent(transaction, toBatch(rows[0]), 'batch.paused');
  });
}

/** Records that lines start again. */
export async function resumeBatch(database: Database, id: string): Promise<void> {
  await database('batches').where({ id }).update({ paused_reason: null, paused_at: null });
}

/** The money that a batch can spend, for a comparison. */
export interface Funds {
  readonly available: string;
  /** The limits and the state of the key, and the pause of an operator. */
  readonly key: string;
}

export async function readFunds(database: Database, id: string): Promise<Funds> {
  const { rows } = await database.raw<{ rows: Funds[] }>(
    /* sql */ `
    SELECT (signup_available + funded_available)::text AS available,
      concat_ws(' ', usage_limit, limit_period, disabled_at, api_keys.deleted_at, suspended_at, operator_paused_at) AS key
    FROM batches JOIN accounts ON accounts.id = batches.account_id JOIN api_keys ON api_keys.id = batches.api_key_id
    WHERE batches.id = :id`,
    { id },
  );
  return onlyRow(rows);
}

/**
 * Moves a batch without waiting lines on to `finalizing`, after which an operator can retry no line.
 *
 * @returns false if lines wait
 */
export async function endRunning(database: Database, id: string): Promise<boolean> {
  return database.transaction(async (transaction) => {
    // Locked before its lines are read, so that they are those of an operator who has just retried some.
    await transaction('batches').where({ id }).forUpdate().first('id');
    if (await hasWaitingLines(transaction, id)) return false;
    await transaction('batches')
      .where({ id, status: 'in_progress' })
      .update({ status: 'finalizing', finalizing_at: transaction.raw('clock_timestamp()') });
    return true;
  });
}

/** Records that all lines have ended, or must end. Returns the batch; null if it is final. */
export async function startFinalizing(database: Database, id: string): Promise<Batch | null> {
  const rows = await database<BatchRow>('batches')
    .where({ id })
    .whereNull('ended_at')
    .update({
      status: database.raw(`CASE status WHEN 'cancelling' THEN status ELSE 'finalizing' END`),
      finalizing_at: database.raw('coalesce(finalizing_at, clock_timestamp())'),
    })
    .returning('*');
  return rows[0] === undefined ? null : toBatch(rows[0]);
}

export interface BatchOutcome {
  readonly status: BatchEnding;
  readonly outputFileId?: string | null;
  readonly errorFileId?: string | null;
  readonly errors?: readonly BatchError[];
}

/** Ends a batch, with its event. @param within makes other changes of the same transaction @returns false if it was final */
export async function finishBatch(
  database: Database,
  id: string,
  { status, outputFileId = null, errorFileId = null, errors }: BatchOutcome,
  within: (transaction: Database) => Promise<void> = async () => {},
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const { rows: counted } = await transaction.raw<{ rows: Omit<Counts, 'total'>[] }>(
      `SELECT ${COUNTS_OF_LINES} FROM batch_lines WHERE batch_id = :id`,
      { id },
    );
    const rows = await transaction<BatchRow>('batches')
      .where({ id })
      .whereNull('ended_at')
      .update({
        ...onlyRow(counted),
        failures: transaction.raw(FAILURES_OF_LINES),
        status,
        output_file_id: outputFileId,
        error_file_id: errorFileId,
        errors: errors === undefined ? null : transaction.raw(':errors::jsonb', { errors: JSON.stringify(errors) }),
        paused_reason: null,
        paused_at: null,
        ended_at: transaction.raw('clock_timestamp()'),
      })
      .returning('*');
    const [row] = rows;
    if (row === undefined) return false;
    await within(transaction);
    await insertBatchEvent(transaction, toBatch(row), `batch.${status}`);
    return true;
  });
}

export async function insertBatchEvent(transaction: Database, batch: Batch, type: BatchEvent): Promise<void> {
  const event = {
    id: newId('event'),
    type,
    at: batch.endedAt ?? batch.operatorPausedAt ?? batch.pausedAt ?? batch.createdAt,
  };
  await insertEvent(transaction, {
    ...event,
    accountId: batch.accountId,
    taskId: null,
    // Clients' texts would outlive an erasure in the event.
    payload: renderEvent(BATCH_EVENT, { ...event, batch: { ...batch, metadata: null } }),
  });
}
