import { Context } from '@temporalio/activity';
import { listResultFiles } from '../../db/queries/result-files.ts';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { CANCEL_LIMIT_MS } from '../../domain/step-limits.ts';
import { retryAfterRequestedWait } from './requested-wait.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { createSubmissionCloser } from './recover.ts';

/**
 * Clears up after a task that was refunded: removes what was stored of it, and tells the upstream that nobody waits for it
 * any more, also when its submission was never acknowledged.
 *
 * The workflow's own knowledge of the job counts where the database was restored to a moment before it.
 */
export function createCancelJob(dependencies: MediaTaskDependencies) {
  const { database, storage } = dependencies;
  const close = createSubmissionCloser(dependencies);

  return async (taskId: string, jobIdOfWorkflow?: string): Promise<void> =>
    cancel(taskId, jobIdOfWorkflow).catch((error: unknown) => retryAfterRequestedWait(error, CANCEL_LIMIT_MS));

  async function cancel(taskId: string, jobIdOfWorkflow?: string): Promise<void> {
    const task = await loadTask(database, taskId);
    if (task.status === 'failed') await removeFiles(taskId);
    const last = (await listSubmissions(database, taskId)).at(-1);
    const upstream = upstreamOf(dependencies, task);
    const found = last?.outcome === null ? await close(task, last, upstream) : null;
    const jobId = task.providerJobId ?? last?.jobId ?? found ?? jobIdOfWorkflow;
    if (jobId !== undefined) await upstream.cancel(jobId, Context.current().cancellationSignal);
  }

  /** The sweep removes later what cannot be removed now, and what a step still writes. */
  async function removeFiles(taskId: string): Promise<void> {
    const keys = await listResultFiles(database, taskId);
    await Promise.allSettled(keys.map((key) => storage.delete(key)));
  }
}
