/** Removes expired rows, on a schedule, so that no table grows without limit. */
import { proxyActivities, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/sweep.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';
import { TASK_QUEUES } from '../domain/task-queues.ts';

const { sweepTables } = proxyActivities<SweepActivities>({
  taskQueue: TASK_QUEUES.schedules,
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '1 minute',
  // The next scheduled sweep removes what this one leaves.
  retry: { initialInterval: '10 seconds', maximumAttempts: 5 },
  summary: 'Remove expired rows',
});

/** @returns how many rows were removed, by kind */
export async function sweep(): Promise<Readonly<Record<string, number>>> {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.kind, value: 'sweep' }]);
  const removed = await sweepTables();
  setCurrentDetails(`Removed: ${JSON.stringify(removed)}.`);
  return removed;
}
