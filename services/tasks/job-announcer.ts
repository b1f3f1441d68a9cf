/** Passes a provider's announcement that a job has ended to the workflow that waits for it. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { ServiceError } from '../../domain/errors.ts';
import type { jobEnded } from '../../workflows/media-task/media-task.ts';

/** @throws ServiceError `processing_unavailable` when Temporal does not answer. Polling finds the end of the job anyway */
export type AnnounceJobEnd = (taskId: string) => Promise<void>;

/** A healthy server answers sooner. The provider announces the job again. */
const SIGNAL_DEADLINE_MS = 3_000;

export function createJobAnnouncer(client: Client): AnnounceJobEnd {
  return async (taskId) => {
    try {
      await client.connection.withDeadline(Date.now() + SIGNAL_DEADLINE_MS, () =>
        client.workflow.getHandle(taskId).signal<[], (typeof jobEnded)['name']>('jobEnded'),
      );
    } catch (error) {
      // The task has ended in the meantime, so no workflow waits for the job.
      if (error instanceof WorkflowNotFoundError) return;
      throw new ServiceError('processing_unavailable', 'The callback could not be processed. Send it again.', {
        cause: error,
      });
    }
  };
}
