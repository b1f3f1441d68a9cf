/** What operators change in a batch, each with its record in the log of operators' actions. */
import { toBatch, type BatchRow } from './batches.ts';
import { insertBatchEvent } from './batch-runs.ts';
import type { Database } from '../database.ts';
import { BATCHES } from '../../domain/policy.ts';
import { type Authorship, type BatchActionKind, recordBatchAction } from './operator-actions.ts';

/** Stops further lines until {@link liftOperatorPause}, with an event. @returns false if the batch is not running, or paused */
export function pauseByOperator(database: Database, id: string, by: Authorship): Promise<boolean> {
  return recorded(database, { batchId: id, kind: 'pause', ...by }, async (transaction) => {
    const [paused] = await transaction<BatchRow>('batches')
      .where({ id, operator_paused_at: null })
      .whereIn('status', ['validating', 'in_progress'])
      .update({ operator_paused_at: transaction.raw('clock_timestamp()') })
      .returning('*');
    if (paused === undefined) return 0;
    await insertBatchEvent(transaction, toBatch(paused), 'batch.paused');
    return 1;
  }).then((count) => count > 0);
}

/** Lets lines start again. @returns false if no operator pauses the batch, or the batch is final */
export function liftOperatorPause(database: Database, id: string, by: Authorship): Promise<boolean> {
  return recorded(database, { batchId: id, kind: 'resume', ...by }, (transaction) =>
    transaction('batches')
      .where({ id, ended_at: null })
      .whereNotNull('operator_paused_at')
      .update({ operator_paused_at: null }),
  ).then((count) => count > 0);
}

/** Makes no further line start. @returns false if the batch is finalizing or final, or is being cancelled */
export function cancelByOperator(database: Database, id: string, by: Authorship): Promise<boolean> {
  return recorded(database, { batchId: id, kind: 'cancel', ...by }, (transaction) =>
    transaction('batches')
      .where({ id })
      .whereIn('status', ['validating', 'in_progress'])
      .update({ status: 'cancelling', cancelling_at: transaction.raw('clock_timestamp()') }),
  ).then((count) => count > 0);
}

/**
 * Makes the failed lines of a running batch wait again, except those that were started as often as any line may be,
 * and those whose failure was charged: another attempt would charge them twice.
 *
 * @returns the number of lines; null if the batch does not run
 */
export function retryFailedLines(database: Database, id: string, by: Authorship): Promise<number | null> {
  return database.transaction(async (transaction) => {
    // Locked, so that the batch does not end meanwhile: see `endRunning`.
    const running = await transaction('batches').where({ id, status: 'in_progress' }).forUpdate().first('id');
    if (running === undefined) return null;
    return recorded(transaction, { batchId: id, kind: 'retry', ...by }, async () => {
      const { rowCount } = await transaction.raw<{ rowCount: number }>(
        /* sql */ `
        UPDATE batch_lines AS line SET status = 'waiting', response_status = NULL, request_id = NULL, task_id = NULL
        WHERE batch_id = :id AND status = 'failed' AND attempt < :maxAttempts AND NOT EXISTS (
          SELECT FROM text_requests AS request
          WHERE request.batch_id = :id AND request.request_id = line.request_id AND request.charge > 0)`,
        { id, maxAttempts: BATCHES.maxAttempts },
      );
      return rowCount;
    });
  });
}

/** Records the action if it changes something, in one transaction. @returns the number of changes */
function recorded(
  database: Database,
  action: Authorship & { readonly batchId: string; readonly kind: BatchActionKind },
  change: (transaction: Database) => PromiseLike<number>,
): Promise<number> {
  return database.transaction(async (transaction) => {
    const count = await change(transaction);
    if (count > 0) await recordBatchAction(transaction, action);
    return count;
  });
}
