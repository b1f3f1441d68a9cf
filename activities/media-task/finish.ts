import { eventOf, type FinishedTask, finishTask, type TaskEnding } from '../../db/queries/finish-task.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { GeneratedMedia } from '../../domain/task.ts';
import { loadTask, type MediaTaskDependencies } from './dependencies.ts';

export interface Resolution {
  readonly transferId: string;
  readonly taskStatus: string;
  readonly deliveryIds: readonly string[];
  /** What the step was given. Histories do not hold what local activities are given, only what they return. */
  readonly ending: TaskEnding;
}

/** Charges the reservation and ends the task as succeeded. */
export function createSettle(dependencies: MediaTaskDependencies) {
  const finish = createFinish(dependencies);
  return async (taskId: string, output: readonly GeneratedMedia[]): Promise<Resolution> =>
    finish(taskId, { status: 'succeeded', output }, true);
}

/** Refunds the whole reservation and ends the task as failed. A processing timeout sends no event. */
export function createRefund(dependencies: MediaTaskDependencies) {
  const finish = createFinish(dependencies);
  return async (taskId: string, code: TaskErrorCode, message: string): Promise<Resolution> =>
    finish(taskId, { status: 'failed', failure: { code, message } }, code !== 'processing_timeout');
}

function createFinish({ database, metrics }: MediaTaskDependencies) {
  return async (taskId: string, ending: TaskEnding, sendsEvent: boolean): Promise<Resolution> => {
    const event = sendsEvent ? eventOf(ending) : null;
    const finished = await finishTask(database, taskId, ending, event).catch(async (error: unknown) => {
      // A task that a restored database has lost will not come back, so retries are useless.
      await loadTask(database, taskId);
      throw error;
    });
    if (finished.applied) metrics.taskEnded(finished.task);
    return toResolution(finished, ending);
  };
}

function toResolution({ resolutionId, task, deliveryIds }: FinishedTask, ending: TaskEnding): Resolution {
  return { transferId: resolutionId, taskStatus: task.status, deliveryIds, ending };
}
