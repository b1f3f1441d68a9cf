import { recordNoResult } from '../../db/queries/submissions.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { Task } from '../../domain/task.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { operatorLine } from './record-outcome.ts';
import { retryWrite } from './retry-write.ts';

/**
 * Records why an accepted job led to no result, for operators, who read it long after the history is gone.
 *
 * @param words the upstream's, if it gave any
 */
export type RecordNoResult = (task: Pick<Task, 'id'>, code: TaskErrorCode, words: string | null) => Promise<void>;

export function createNoResultRecorder({ database }: Pick<MediaTaskDependencies, 'database'>): RecordNoResult {
  return async ({ id }, code, words) =>
    retryWrite(() => recordNoResult(database, id, { code, detail: operatorLine(words) }));
}
