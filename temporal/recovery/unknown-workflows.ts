/** Workflows of tasks and deliveries that the database has never heard of: it was restored to a moment before they began. */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { Database } from '../../db/database.ts';
import { inPages } from '../../db/in-pages.ts';
import { findUnknownDeliveries, findUnknownTasks } from '../../db/queries/recovery.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';

export interface UnknownWorkflow {
  /** Of the task or the delivery. */
  readonly id: string;
  readonly accountId: string | null;
  /** Of a task. */
  readonly model: string | null;
  readonly startedAt: Date;
  readonly isOpen: boolean;
  /** How it ended: `succeeded` or an error code, or else what Temporal says, such as `TERMINATED`. */
  readonly outcome: string;
}

const PAGE_SIZE = 200;

/** @param since of those that are over, only tasks begun after that are looked at */
export async function* findUnknownWorkflows(
  { client, database }: { readonly client: Client; readonly database: Database },
  since: Date,
): AsyncIterable<UnknownWorkflow> {
  const queries = [
    // Those that are over first, so that none is told of again once it was terminated.
    {
      query: `WorkflowType = 'mediaTask' AND ExecutionStatus != 'Running' AND StartTime > '${since.toISOString()}'`,
      findUnknown: findUnknownTasks,
    },
    { query: `WorkflowType = 'mediaTask' AND ExecutionStatus = 'Running'`, findUnknown: findUnknownTasks },
    { query: `WorkflowType = 'webhookDelivery' AND ExecutionStatus = 'Running'`, findUnknown: findUnknownDeliveries },
  ];
  for (const { query, findUnknown } of queries) {
    for await (const workflows of inPages(client.workflow.list({ query }), PAGE_SIZE)) {
      const unknown = await findUnknown(
        database,
        workflows.map(({ workflowId }) => workflowId),
      );
      yield* workflows.filter(({ workflowId }) => unknown.has(workflowId)).map(toUnknown);
    }
  }
}

/** Ends one that runs; without its row it could only fail. */
export async function terminateUnknown(client: Client, { id }: UnknownWorkflow): Promise<void> {
  await client.workflow.getHandle(id).terminate('The database has never heard of it (genway recover).');
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
