/** Removes what nobody asks for any more, on a schedule, so that no table grows for ever. */
import { proxyActivities, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/sweep.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';

const { sweepTables } = proxyActivities<SweepActivities>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '1 minute',
  // The next one on the schedule makes up for what this one leaves.
  retry: { initialInterval: '10 seconds', maximumAttempts: 5 },
  summary: 'Remove what nobody asks for any more',
});

/** @returns how many rows were removed, by what they were */
export async function sweep(): Promise<Readonly<Record<string, number>>> {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.kind, value: 'sweep' }]);
  const removed = await sweepTables();
  setCurrentDetails(`Removed: ${JSON.stringify(removed)}.`);
  return removed;
}
