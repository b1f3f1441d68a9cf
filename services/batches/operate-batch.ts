/** What operators do with a running batch: cancel, pause, resume, and retry failed lines. Each action is recorded. */
import {
  cancelByOperator,
  liftOperatorPause,
  pauseByOperator,
  retryFailedLines,
} from '../../db/queries/batch-actions.ts';
import type { Database } from '../../db/database.ts';
import type { Authorship } from '../../db/queries/operator-actions.ts';
import { type Batch, isFinalBatch } from '../../domain/batch.ts';
import { ServiceError } from '../../domain/errors.ts';

type Operated = Pick<Batch, 'id' | 'status' | 'pausedReason' | 'operatorPausedAt'>;

/** Makes no further line start. Has no effect on a batch that is being cancelled. @throws ServiceError 409 for a batch that has ended */
export async function cancelAnyBatch(database: Database, batch: Operated, by: Authorship): Promise<void> {
  if (await cancelByOperator(database, batch.id, by)) return;
  if (batch.status !== 'cancelling') throw conflict(`The batch is ${batch.status}. It can no longer be cancelled.`);
}

/** Stops further lines until somebody resumes the batch, or it expires. @throws ServiceError 409 for a batch that does not run */
export async function pauseAnyBatch(database: Database, batch: Operated, by: Authorship): Promise<void> {
  if (await pauseByOperator(database, batch.id, by)) return;
  throw conflict(
    batch.operatorPausedAt === null ? `The batch is ${batch.status}. No request starts.` : 'The batch is paused.',
  );
}

/** @throws ServiceError 409 for a batch that no operator has paused */
export async function resumeAnyBatch(database: Database, batch: Operated, by: Authorship): Promise<void> {
  if (await liftOperatorPause(database, batch.id, by)) return;
  const { pausedReason, status } = batch;
  throw conflict(
    pausedReason === null
      ? `The batch is ${status}. No operator has paused it.`
      : `The batch waits because of ${pausedReason}. It continues by itself once that has changed.`,
  );
}

/**
 * Runs the failed lines of a running batch again. @returns the number of lines
 *
 * @throws ServiceError 409 for a batch that does not run: its failures are in its error file
 */
export async function retryLines(database: Database, batch: Operated, by: Authorship): Promise<number> {
  const count = await retryFailedLines(database, batch.id, by);
  if (count !== null) return count;
  throw conflict(
    isFinalBatch(batch.status)
      ? `The batch is ${batch.status}. Create a new batch from the requests in its error file.`
      : `The batch is ${batch.status}. Only requests of a batch in progress run again.`,
  );
}

function conflict(reason: string): ServiceError {
  return new ServiceError('bad_request', reason, { status: 409 });
}
