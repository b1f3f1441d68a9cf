/** Deletes the histories of workflows from Temporal, with their inputs and results, for the sweep of content. */
import type { Client } from '@temporalio/client';
import { isNotFound } from './workflow-not-found.ts';

export function createHistoryEraser(client: Client): { erase(workflowId: string): Promise<void> } {
  const { namespace } = client.options;

  async function deleteRun(workflowId: string, runId: string): Promise<void> {
    try {
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return {
    erase: async (workflowId) => {
      const runs = client.workflow.list({ query: `WorkflowId = '${workflowId}'` });
      for await (const { runId } of runs) await deleteRun(workflowId, runId);
    },
  };
}
