import { listSubmissions, recordCost } from '../../db/queries/submissions.ts';
import type { VendorCost } from '../../domain/media-route.ts';
import { renderCost } from '../../domain/render-cost.ts';
import type { Task } from '../../domain/task.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { untilWritten } from './until-written.ts';

/**
 * Writes down what a render cost, where the upstream tells it or the operator wrote it with the route.
 *
 * @param isCharged whether the upstream charges for it, as far as it does not tell
 */
export function createCostRecorder({ database }: Pick<MediaTaskDependencies, 'database'>) {
  return async (task: Task, told: VendorCost | null, isCharged = true): Promise<void> => {
    const { routes } = task.request;
    if (told === null && !routes.some(({ cost }) => cost !== undefined)) return;
    await untilWritten(async () => {
      const submissions = await listSubmissions(database, task.id);
      const accepted = submissions.find(({ outcome }) => outcome === 'accepted');
      const written = (accepted && routes[accepted.route]?.cost) ?? null;
      const cost = isCharged || told !== null ? renderCost(task.request, { told, written }) : null;
      await recordCost(database, task.id, { told, cost });
    });
  };
}
