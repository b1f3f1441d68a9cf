/** Starts the workflows of batches. The relay calls it. */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes, WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { type BatchToStart, claimBatchesToStart, deferBatchStart } from '../../db/queries/batch-runs.ts';
import { createsTasks } from '../../domain/batch.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { toBatchPriority, TASK_QUEUES } from '../../domain/task-queues.ts';
import type { batch } from '../../workflows/batch.ts';

export interface BatchStarter {
  /** Starts the workflows of batches that are due. @returns how many were due */
  startDue(limit: number): Promise<number>;
}

const START_DEADLINE_MS = 5_000;
const RETRY_AFTER_SECONDS = 10;

export function createBatchStarter({
  client,
  database,
  log,
}: {
  readonly client: Client;
  readonly database: Database;
  readonly log: Logger;
}): BatchStarter {
  async function start(due: BatchToStart): Promise<void> {
    try {
      await client.connection.withDeadline(Date.now() + START_DEADLINE_MS, () => startWorkflow(client, due));
    } catch (error) {
      log.warn({ err: error, batch_id: due.id }, 'could not start the batch; the relay will try again');
      await deferBatchStart(database, due.id, RETRY_AFTER_SECONDS);
    }
  }
  return {
    startDue: async (limit) => {
      const due = await claimBatchesToStart(database, limit);
      await Promise.all(due.map(start));
      return due.length;
    },
  };
}

/** Has no effect while the workflow runs. A workflow continues from the state in PostgreSQL. */
async function startWorkflow(client: Client, { id, accountId, endpoint }: BatchToStart): Promise<void> {
  try {
    await client.workflow.start<typeof batch>('batch', {
      workflowId: id,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      taskQueue: TASK_QUEUES.webhooks,
      priority: toBatchPriority(accountId),
      args: [{ batchId: id, createsTasks: createsTasks(endpoint) }],
      staticSummary: `Run a batch of requests to ${endpoint}`,
      memo: { account_id: accountId },
      typedSearchAttributes: new TypedSearchAttributes([
        { key: SEARCH_ATTRIBUTES.account, value: accountId },
        { key: SEARCH_ATTRIBUTES.kind, value: 'batch' },
      ]),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
