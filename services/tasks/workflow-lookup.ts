/** Answers a reconciliation's questions with Temporal's client. */
import type { Client } from '@temporalio/client';
import type { WorkflowLookup } from '../../db/reconciliation/check.ts';
import { isNotFound } from './workflow-not-found.ts';

export function createWorkflowLookup(client: Client): WorkflowLookup {
  return {
    async *listOpen(workflowType) {
      const open = client.workflow.list({ query: `WorkflowType = '${workflowType}' AND ExecutionStatus = 'Running'` });
      for await (const { workflowId } of open) yield workflowId;
    },

    async isOpen(id) {
      try {
        const { status } = await client.workflow.getHandle(id).describe();
        return status.name === 'RUNNING';
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
  };
}
