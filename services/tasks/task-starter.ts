/** Starts a task's workflow once, however many processes try. */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes, WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import { createBatcher } from '../../db/batcher.ts';
import type { Database } from '../../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../../db/database-clock.ts';
import { findTaskStartTimes, markWorkflowsStarted, type TaskToStart } from '../../db/queries/tasks.ts';
import { formatDollars } from '../../domain/money.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { toPriority, TASK_QUEUES } from '../../domain/task-queues.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { mediaTask } from '../../workflows/media-task/media-task.ts';
import { createStartWindow } from './start-window.ts';

export interface TaskStarter {
  /**
   * Whether this process starts a task that is about to be created. If not, it is left to the relay, without delay:
   * there is no room, or others are already waiting, which it must not overtake.
   */
  tryReserveSlot(taskId: string): boolean;
  /** Releases the place of a task that was not created. */
  releaseSlot(taskId: string): void;
  /** Starts a taken task after its creation, without waiting for the result. */
  startSoon(task: TaskToStart): void;
  /** Notes that a task waits for the relay. */
  deferToRelay(): void;
  /** Resolves as soon as a task waits for the relay. */
  whenDeferred(): Promise<void>;
  /** How many waiting tasks may be started now. */
  freeSlots(): Promise<number>;
  /** Tries to start the workflow and records it; never throws. @returns whether Temporal acknowledged */
  start(task: TaskToStart): Promise<boolean>;
  /** @param mayBeMore whether more tasks wait than there was room for */
  setBacklog(mayBeMore: boolean): void;
  /** Resolves when no start is in progress. */
  stop(): Promise<void>;
}

/** A server that takes longer is in trouble; the relay tries again later. */
const START_DEADLINE_MS = 5_000;
/** How long a start is left to the process that took the task; then any process's relay claims it. */
export const OWN_START_MS = 3_000;

export function createTaskStarter({
  client,
  database,
  metrics,
  log,
  clock = MACHINE_CLOCK,
}: {
  client: Client;
  database: Database;
  metrics: Metrics;
  log: Logger;
  clock?: Clock;
}): TaskStarter {
  const inFlight = new Set<Promise<boolean>>();
  const window = createStartWindow(() => clock.nowMs());
  const line = createLine();
  const started = createBatcher<string, null>(
    async (taskIds) => {
      await markWorkflowsStarted(database, taskIds);
      return taskIds.map(() => null);
    },
    { maxItems: 100, onFlush: (items) => metrics.batchFlushed('task_starts', items) },
  );

  async function start(task: TaskToStart): Promise<boolean> {
    window.add(task.id);
    try {
      await client.connection.withDeadline(Date.now() + START_DEADLINE_MS, () => startWorkflow(client, task));
      await started.add(task.id);
      return true;
    } catch (error) {
      window.remove(task.id);
      log.warn({ err: error, task_id: task.id }, 'the workflow could not be started; the relay will try again');
      return false;
    }
  }

  function tracked(task: TaskToStart): Promise<boolean> {
    const attempt = start(task).finally(() => inFlight.delete(attempt));
    inFlight.add(attempt);
    return attempt;
  }

  return {
    tryReserveSlot: (taskId) => {
      if (line.waits() || window.freeSlots() === 0) return false;
      window.add(taskId);
      return true;
    },
    releaseSlot: (taskId) => window.remove(taskId),
    startSoon: (task) => void tracked(task),
    deferToRelay: () => line.set(true),
    whenDeferred: () => line.whenSet(),
    freeSlots: async () => {
      const taskIds = window.listPending();
      if (taskIds.length > 0) window.recordStarts(await findTaskStartTimes(database, taskIds));
      return window.freeSlots();
    },
    start: tracked,
    setBacklog: (mayBeMore) => line.set(mayBeMore),
    stop: async () => void (await Promise.all(inFlight)),
  };
}

/** Knows whether tasks wait for the relay. */
function createLine() {
  let waits = false;
  let wake: (() => void) | undefined;
  return {
    waits: () => waits,
    set: (left: boolean) => {
      waits = left;
      if (left) wake?.();
    },
    whenSet: () => (waits ? Promise.resolve() : new Promise<void>((resolve) => (wake = resolve))),
  };
}

/** Starts the workflow of a task, unless one runs or has completed. */
export async function startWorkflow(client: Client, task: TaskToStart): Promise<void> {
  try {
    await client.workflow.start<typeof mediaTask>('mediaTask', {
      workflowId: task.id,
      // After a workflow that was terminated or failed, another may be started: see `recovery/`.
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
      taskQueue: TASK_QUEUES.media,
      priority: toPriority(task.accountId),
      args: [{ taskId: task.id, deadlineAt: task.deadlineAt.toISOString(), price: formatDollars(task.price) }],
      staticSummary: `Render a${task.kind === 'image' ? 'n image' : ' video'} with ${task.model}`,
      staticDetails: `Task \`${task.id}\` of account \`${task.accountId}\`, created by request \`${task.requestId}\`.`,
      memo: { task_id: task.id, account_id: task.accountId, request_id: task.requestId },
      typedSearchAttributes: new TypedSearchAttributes([
        { key: SEARCH_ATTRIBUTES.account, value: task.accountId },
        { key: SEARCH_ATTRIBUTES.model, value: task.model },
        { key: SEARCH_ATTRIBUTES.kind, value: task.kind },
      ]),
    });
  } catch (error) {
    // An earlier start arrived, although its answer did not.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
