/** Starts the workflow of a task, once, however many processes try. */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes, WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import { createBatcher } from '../../db/batcher.ts';
import type { Database } from '../../db/database.ts';
import { markWorkflowsStarted, type TaskToStart } from '../../db/queries/tasks.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { shareOf, TASK_QUEUES } from '../../domain/task-queues.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { mediaTask } from '../../workflows/media-task.ts';
import { createTurns } from './turns.ts';

export interface TaskStarter {
  /** Tries to start the workflow and records it; never throws. @returns whether Temporal acknowledged */
  start(task: TaskToStart): Promise<boolean>;
  /** Starts it when its turn comes, and leaves it to the relay if that takes too long. Returns at once. */
  startSoon(task: TaskToStart): void;
  /** Leaves what waits for its turn to the relay. Resolves when no start is under way. */
  stop(): Promise<void>;
}

/** A server that needs longer is in trouble; the relay comes back to the task. */
const START_DEADLINE_MS = 5_000;
/** From a task's creation on; then the relay of any process takes it up. */
export const OWN_START_MS = 3_000;
/** More at once would only queue up in the server and slow the create calls. */
const MAX_STARTS_IN_FLIGHT = 1;

const ACCOUNT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.account, 'KEYWORD');
const MODEL = defineSearchAttributeKey(SEARCH_ATTRIBUTES.model, 'KEYWORD');
const KIND = defineSearchAttributeKey(SEARCH_ATTRIBUTES.kind, 'KEYWORD');

export function createTaskStarter({
  client,
  database,
  metrics,
  log,
}: {
  client: Client;
  database: Database;
  metrics: Metrics;
  log: Logger;
}): TaskStarter {
  const inFlight = new Set<Promise<boolean>>();
  const waiting = createTurns<{ readonly task: TaskToStart; readonly untilMs: number }>();
  const started = createBatcher<string, null>(
    async (taskIds) => {
      await markWorkflowsStarted(database, taskIds);
      return taskIds.map(() => null);
    },
    { maxItems: 100, onFlush: (items) => metrics.batchFlushed('task_starts', items) },
  );

  async function start(task: TaskToStart): Promise<boolean> {
    try {
      await client.connection.withDeadline(Date.now() + START_DEADLINE_MS, () => startWorkflow(client, task));
      await started.add(task.id);
      return true;
    } catch (error) {
      log.warn({ err: error, task_id: task.id }, 'the workflow could not be started yet');
      return false;
    }
  }

  function tracked(task: TaskToStart): Promise<boolean> {
    const attempt = start(task).finally(() => inFlight.delete(attempt));
    inFlight.add(attempt);
    return attempt;
  }

  function startWaiting(): void {
    while (inFlight.size < MAX_STARTS_IN_FLIGHT) {
      const next = waiting.take();
      if (next === undefined) return;
      if (next.untilMs > Date.now()) void tracked(next.task).finally(startWaiting);
    }
  }

  return {
    start: tracked,
    startSoon: (task) => {
      waiting.add(task.accountId, { task, untilMs: Date.now() + OWN_START_MS });
      startWaiting();
    },
    stop: async () => {
      waiting.clear();
      await Promise.all(inFlight);
    },
  };
}

async function startWorkflow(client: Client, task: TaskToStart): Promise<void> {
  try {
    await client.workflow.start<typeof mediaTask>('mediaTask', {
      workflowId: task.id,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      taskQueue: TASK_QUEUES.media,
      priority: shareOf(task.accountId),
      args: [{ taskId: task.id, deadlineAt: task.deadlineAt.toISOString() }],
      staticSummary: `Render a${task.kind === 'image' ? 'n image' : ' video'} with ${task.model}`,
      staticDetails: `Task \`${task.id}\` of account \`${task.accountId}\`, created by request \`${task.requestId}\`.`,
      memo: { task_id: task.id, account_id: task.accountId, request_id: task.requestId },
      typedSearchAttributes: new TypedSearchAttributes([
        { key: ACCOUNT, value: task.accountId },
        { key: MODEL, value: task.model },
        { key: KIND, value: task.kind },
      ]),
    });
  } catch (error) {
    // Somebody's earlier start arrived although its answer did not.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
