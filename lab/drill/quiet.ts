/** Waits until no work is in progress. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Database } from '../../db/database.ts';

/** The amounts of work in progress, by name. */
export type Unfinished = Readonly<Record<string, number>>;

const PAUSE_MS = 1_000;

/** Temporal's names of the workflows of tasks and deliveries. One may be open for a while after its task is final. */
export const OPEN_WORKFLOWS = `ExecutionStatus = 'Running' AND WorkflowType IN ('mediaTask', 'webhookDelivery', 'batch')`;

/** @returns the work still in progress after `timeoutMs`; empty when all completed */
export async function waitForQuiet(database: Database, temporal: Client, timeoutMs: number): Promise<Unfinished> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const unfinished = await countUnfinished(database, temporal);
    if (Object.keys(unfinished).length === 0 || performance.now() > deadline) return unfinished;
    await sleep(PAUSE_MS);
  }
}

async function countUnfinished(database: Database, temporal: Client): Promise<Unfinished> {
  const { rows } = await database.raw<{ rows: { what: string; count: string }[] }>(/* sql */ `
    SELECT 'tasks' AS what, count(*) FROM tasks WHERE status IN ('queued', 'processing')
    UNION ALL SELECT 'deliveries', count(*) FROM deliveries WHERE status = 'pending'
    UNION ALL SELECT 'batches', count(*) FROM batches WHERE ended_at IS NULL
    UNION ALL SELECT 'allowances', count(*) FROM text_allowances`);
  const { count: workflows } = await temporal.workflow.count(OPEN_WORKFLOWS);
  const counts = [...rows, { what: 'workflows', count: workflows }];
  return Object.fromEntries(
    counts.filter(({ count }) => Number(count) > 0).map(({ what, count }) => [what, Number(count)]),
  );
}
