import type { Task } from '../../domain/task.ts';
import type { JobState } from '../../providers/media/adapter.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { vendorMessageOf } from '../../providers/media/vendor-message.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { createCostRecorder } from './record-cost.ts';
import { createNoResultRecorder } from './record-no-result.ts';
import { taskFailure } from './task-failure.ts';

/** Records the cost and the words of a job that failed. @returns its failure, with the upstream's code */
export function createVerdictReader(dependencies: Pick<MediaTaskDependencies, 'database'>) {
  const recordCost = createCostRecorder(dependencies);
  const recordNoResult = createNoResultRecorder(dependencies);
  return async (
    task: Task,
    upstream: MediaUpstream,
    verdict: Extract<JobState, { state: 'failed' }>,
  ): Promise<Error> => {
    const { code, message, detail, cost } = verdict;
    const isRefusalBilled = upstream.traitsOf(task.kind)?.isRefusalBilled ?? false;
    await recordCost(task, cost ?? null, isRefusalBilled && code === 'content_policy_violation');
    await recordNoResult(task, code, vendorMessageOf(verdict));
    return taskFailure(code, message, detail);
  };
}
