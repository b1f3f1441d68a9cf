import { listSubmissions, recordCost } from '../../db/queries/submissions.ts';
import type { VendorCost } from '../../domain/media-route.ts';
import { renderCost } from '../../domain/render-cost.ts';
import type { Task } from '../../domain/task.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { retryWrite } from './retry-write.ts';

/**
 * Records the cost of a render or of its refusal, if the upstream reports it or the operator configured it with the route.
 *
 * @param isCharged whether the upstream charges for the render, unless it reports the cost; true by default
 */
export type RecordCost = (task: Task, reported: VendorCost | null, isCharged?: boolean) => Promise<void>;

export function createCostRecorder({ database }: Pick<MediaTaskDependencies, 'database'>): RecordCost {
  return async (task, reported, isCharged = true) => {
    const { routes } = task.request;
    if (reported === null && !routes.some(({ cost }) => cost !== undefined)) return;
    await retryWrite(async () => {
      const submissions = await listSubmissions(database, task.id);
      const answered = submissions.find(({ outcome }) => outcome === 'accepted' || outcome === 'refused');
      const written = (answered && routes[answered.route]?.cost) ?? null;
      const cost = isCharged || reported !== null ? renderCost(task.request, { reported, written }) : null;
      await recordCost(database, task.id, { reported, cost });
    });
  };
}
