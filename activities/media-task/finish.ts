import { ApplicationFailure } from '@temporalio/common';
import { createBatcher } from '../../db/batcher.ts';
import { eventOf, type Finish, type FinishedTask, finishTasks } from '../../db/queries/finish-task.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { Canceller, GeneratedMedia, TaskEnding } from '../../domain/task.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { createEndRecorder } from './record-outcome.ts';

export interface Resolution {
  readonly transferId: string;
  readonly taskStatus: string;
  readonly deliveryIds: readonly string[];
}

/** Ends a task. */
export type FinishTask = (taskId: string, ending: TaskEnding, hasEvent: boolean) => Promise<Resolution>;

const MAX_TASKS_PER_TRANSACTION = 50;

/** Charges the reservation and ends the task as succeeded. */
export function createSettle(finish: FinishTask) {
  return async (taskId: string, output: readonly GeneratedMedia[]): Promise<Resolution> =>
    finish(taskId, { status: 'succeeded', output }, true);
}

/** Refunds the whole reservation and ends the task as failed. A processing timeout sends no event. */
export function createRefund(finish: FinishTask) {
  return async (taskId: string, code: TaskErrorCode, message: string, cancelledBy?: Canceller): Promise<Resolution> => {
    const failure = { code, message, ...(cancelledBy !== undefined && { cancelledBy }) };
    return finish(taskId, { status: 'failed', failure }, code !== 'processing_timeout');
  };
}

/** Tasks that end while a transaction is in progress share the next one. */
export function createFinish(dependencies: Pick<MediaTaskDependencies, 'database' | 'metrics' | 'calls'>): FinishTask {
  const { database, metrics } = dependencies;
  const recordEnd = createEndRecorder(dependencies);
  const batcher = createBatcher<Finish, FinishedTask | null>((finishes) => finishTasks(database, finishes), {
    maxItems: MAX_TASKS_PER_TRANSACTION,
    onFlush: (items) => metrics.batchFlushed('task_ends', items),
  });
  return async (taskId, ending, hasEvent) => {
    const event = hasEvent ? eventOf(ending) : null;
    const finished = await batcher.add({ taskId, ending, event });
    // A task that a restored database has lost will not come back, so retries are useless.
    if (!finished) throw ApplicationFailure.nonRetryable(`there is no task ${taskId}`, 'TaskMissing');
    if (finished.applied) metrics.taskEnded(finished.task);
    if (finished.submission) recordEnd(finished.task, finished.submission);
    return { transferId: finished.resolutionId, taskStatus: finished.task.status, deliveryIds: finished.deliveryIds };
  };
}
