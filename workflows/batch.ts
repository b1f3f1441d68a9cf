/**
 * Runs a batch: reads its input, runs its lines for some seconds at a time, by jobs of vendors or as tasks, and writes its files. The state is in
 * PostgreSQL, so a workflow that starts anew continues. Nobody signals the workflow: its activities look whether the
 * batch is cancelled or paused.
 */
import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BatchActivities } from '../activities/batch.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';
import { TASK_QUEUES } from '../domain/task-queues.ts';

export interface BatchInput {
  readonly batchId: string;
  /** Whether the lines create tasks. */
  readonly createsTasks: boolean;
}

const RETRY = { initialInterval: '1 second', maximumInterval: '30 seconds' } as const;

const { prepare, runJobs, runLines, finalize } = proxyActivities<BatchActivities>({
  taskQueue: TASK_QUEUES.batches,
  // Longer than the window of a batch; heartbeats notice a dead worker.
  startToCloseTimeout: '2 days',
  heartbeatTimeout: '20 seconds',
  retry: RETRY,
});

const { runTasks, awaitFunds } = proxyActivities<BatchActivities>({
  taskQueue: TASK_QUEUES.waitingBatches,
  startToCloseTimeout: '2 days',
  heartbeatTimeout: '20 seconds',
  retry: RETRY,
});

/** A run has at most so many chunks and pauses, a tenth of the events that Temporal allows. */
const MAX_STEPS = 500;

const NO_JOBS: Awaited<ReturnType<BatchActivities['runJobs']>> = {
  isDone: true,
  pauseMs: 0,
  reason: null,
  funds: null,
};

export async function batch({ batchId, createsTasks }: BatchInput): Promise<void> {
  await prepare(batchId);
  let jobs = createsTasks ? NO_JOBS : await runJobs(batchId);
  for (let steps = 0; ; steps += 1) {
    if (steps >= MAX_STEPS || workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof batch>({ batchId, createsTasks });
    const chunk = await (createsTasks ? runTasks : runLines)(batchId);
    if (chunk.kind === 'paused') {
      setCurrentDetails(`Paused: ${chunk.reason}.`);
      await awaitFunds(batchId, chunk.funds, jobs.isDone || jobs.funds !== null ? null : jobs.pauseMs);
    } else if (chunk.kind !== 'more') {
      if (jobs.isDone && chunk.kind !== 'jobs') {
        const hasWaitingLines = await finalize(batchId);
        if (!hasWaitingLines) break;
        await continueAsNew<typeof batch>({ batchId, createsTasks });
      }
      if (jobs.funds !== null) await awaitFunds(batchId, jobs.funds, null);
      else if (!jobs.isDone) await sleep(jobs.pauseMs);
    }
    if (!jobs.isDone || chunk.kind === 'jobs') jobs = await runJobs(batchId);
  }
  setCurrentDetails('All files are written.');
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: 'final' }]);
}
