/**
 * Runs a batch: reads its input, runs its lines for some seconds at a time, by jobs of vendors or as tasks, and writes its files. The state is in
 * PostgreSQL, so a workflow that starts anew continues. Nobody signals the workflow: its activities look whether the
 * batch is cancelled or paused.
 */
import {
  type ActivityInterfaceFor,
  type ActivityOptions,
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

const SHARED = {
  // Longer than the window of a batch; heartbeats notice a dead worker.
  startToCloseTimeout: '2 days',
  heartbeatTimeout: '20 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
} as const;

const STEPS = {
  prepare: { taskQueue: TASK_QUEUES.batches, summary: 'Read the input' },
  runJobs: { taskQueue: TASK_QUEUES.batches, summary: 'Start and follow jobs of vendors' },
  runLines: { taskQueue: TASK_QUEUES.batches, summary: 'Run the next requests' },
  runTasks: { taskQueue: TASK_QUEUES.waitingBatches, summary: 'Create tasks for the next requests, and await them' },
  awaitFunds: { taskQueue: TASK_QUEUES.waitingBatches, summary: 'Wait until the paused batch may continue' },
  finalize: { taskQueue: TASK_QUEUES.batches, summary: 'Write the files' },
} as const satisfies Record<keyof BatchActivities, ActivityOptions>;

function step<Name extends keyof BatchActivities>(name: Name): ActivityInterfaceFor<BatchActivities>[Name] {
  return proxyActivities<BatchActivities>({ ...SHARED, ...STEPS[name] })[name];
}

/** A run has at most so many chunks and pauses, a tenth of the events that Temporal allows. */
const MAX_STEPS = 500;

const NO_JOBS: Awaited<ReturnType<BatchActivities['runJobs']>> = {
  isDone: true,
  pauseMs: 0,
  reason: null,
  funds: null,
};

export async function batch({ batchId, createsTasks }: BatchInput): Promise<void> {
  setCurrentDetails('Reading the input.');
  await step('prepare')(batchId);
  let jobs = createsTasks ? NO_JOBS : await step('runJobs')(batchId);
  for (let steps = 0; ; steps += 1) {
    if (steps >= MAX_STEPS || workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof batch>({ batchId, createsTasks });
    setCurrentDetails('Running the requests. `genway batches explain` shows the progress.');
    const chunk = await step(createsTasks ? 'runTasks' : 'runLines')(batchId);
    if (chunk.kind === 'paused') {
      setCurrentDetails(`Paused: ${chunk.reason}.`);
      await step('awaitFunds')(batchId, chunk.funds, jobs.isDone || jobs.funds !== null ? null : jobs.pauseMs);
    } else if (chunk.kind !== 'more') {
      if (jobs.isDone && chunk.kind !== 'jobs') {
        setCurrentDetails('Writing the files.');
        const hasWaitingLines = await step('finalize')(batchId);
        if (!hasWaitingLines) break;
        await continueAsNew<typeof batch>({ batchId, createsTasks });
      }
      if (jobs.funds !== null) {
        setCurrentDetails(`Paused: ${jobs.reason}.`);
        await step('awaitFunds')(batchId, jobs.funds, null);
      } else if (!jobs.isDone) {
        setCurrentDetails('Waiting for jobs of vendors.');
        await sleep(jobs.pauseMs, { summary: 'Before the jobs of vendors are followed again' });
      }
    }
    if (!jobs.isDone || chunk.kind === 'jobs') jobs = await step('runJobs')(batchId);
  }
  setCurrentDetails('All files are written.');
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: 'final' }]);
}
