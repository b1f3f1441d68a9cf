/** Finds workflows whose task or delivery is not in the database, which was restored to a moment before they started. */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { Database } from '../../../db/database.ts';
import { toBatches } from '../../../db/to-batches.ts';
import { findUnknownDeliveries, findUnknownTasks } from '../../../db/queries/recovery.ts';
import { SEARCH_ATTRIBUTES } from '../../../domain/search-attributes.ts';

export interface UnknownWorkflow {
  /** The id of the task or delivery. */
  readonly id: string;
  readonly accountId: string | null;
  /** For a task. */
  readonly model: string | null;
  readonly startedAt: Date;
  readonly isOpen: boolean;
  /** How it ended: `succeeded` or an error code, or else Temporal's own word, such as `TERMINATED`. */
  readonly outcome: string;
}

const PAGE_SIZE = 200;

/** @param since of the workflows that have ended, only those of tasks that started after this are considered */
export async function* findUnknownWorkflows(
  { client, database }: { readonly client: Client; readonly database: Database },
  since: Date,
): AsyncIterable<UnknownWorkflow> {
  const queries = [
    // Closed workflows come first, so that a workflow is not reported again after it has been terminated.
    {
      query: `WorkflowType = 'mediaTask' AND ExecutionStatus != 'Running' AND StartTime > '${since.toISOString()}'`,
      findUnknown: findUnknownTasks,
    },
    { query: `WorkflowType = 'mediaTask' AND ExecutionStatus = 'Running'`, findUnknown: findUnknownTasks },
    { query: `WorkflowType = 'webhookDelivery' AND ExecutionStatus = 'Running'`, findUnknown: findUnknownDeliveries },
  ];
  for (const { query, findUnknown } of queries) {
    for await (const workflows of toBatches(client.workflow.list({ query }), PAGE_SIZE)) {
      const unknown = await findUnknown(
        database,
        workflows.map(({ workflowId }) => workflowId),
      );
      yield* workflows.filter(({ workflowId }) => unknown.has(workflowId)).map(toUnknown);
    }
  }
}

/** Terminates a running workflow, which could only fail without its row. */
export async function terminateUnknown(client: Client, { id }: UnknownWorkflow): Promise<void> {
  await client.workflow.getHandle(id).terminate('Its row is not in the database (genway recover).');
}

function toUnknown({ workflowId, status, startTime, typedSearchAttributes }: WorkflowExecutionInfo): UnknownWorkflow {
  return {
    id: workflowId,
    accountId: typedSearchAttributes.get(SEARCH_ATTRIBUTES.account) ?? null,
    model: typedSearchAttributes.get(SEARCH_ATTRIBUTES.model) ?? null,
    startedAt: startTime,
    isOpen: status.name === 'RUNNING',
    outcome: typedSearchAttributes.get(SEARCH_ATTRIBUTES.outcome) ?? status.name,
  };
}
