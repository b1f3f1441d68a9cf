/** Starts a reconciliation at an operator's request. */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { ServiceError } from '../../domain/errors.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import type { reconciliation } from '../../workflows/reconciliation.ts';

/** @throws ServiceError `processing_unavailable` when Temporal does not answer */
export type StartReconciliation = (reconciliationId: string) => Promise<void>;

/** A healthy server answers sooner. */
const START_DEADLINE_MS = 5_000;

export function createReconciliationStarter(client: Client): StartReconciliation {
  return async (reconciliationId) => {
    try {
      await client.connection.withDeadline(Date.now() + START_DEADLINE_MS, () =>
        client.workflow.start<typeof reconciliation>('reconciliation', {
          workflowId: reconciliationId,
          taskQueue: TASK_QUEUES.webhooks,
          args: [{ reconciliationId }],
          staticSummary: 'Compare the books with each other and with Temporal',
        }),
      );
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      throw new ServiceError('processing_unavailable', 'Temporal does not answer. Try again.', { cause: error });
    }
  };
}
