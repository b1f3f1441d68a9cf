/** Deletes the histories of workflows from Temporal, with what they were given and returned. */
import { type Client, isGrpcServiceError } from '@temporalio/client';

export interface HistoryEraser {
  /** Deletes all runs of a workflow that has ended. Not an error when Temporal has none. */
  erase(workflowId: string): Promise<void>;
}

/** https://grpc.io/docs/guides/status-codes/ */
const NOT_FOUND = 5;

export function createHistoryEraser(client: Client): HistoryEraser {
  const { namespace } = client.options;

  async function deleteRun(workflowId: string, runId: string): Promise<void> {
    try {
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
    } catch (error) {
      if (!(isGrpcServiceError(error) && error.code === NOT_FOUND)) throw error;
    }
  }

  return {
    erase: async (workflowId) => {
      const runs = client.workflow.list({ query: `WorkflowId = '${workflowId}'` });
      for await (const { runId } of runs) await deleteRun(workflowId, runId);
    },
  };
}
