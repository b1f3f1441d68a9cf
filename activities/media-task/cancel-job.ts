import { Context } from '@temporalio/activity';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { createClosing } from './recover.ts';

/**
 * Tells the upstream that nobody waits for a task any more, also when its submission was never acknowledged.
 *
 * The workflow's own knowledge of the job counts where the database was restored to a moment before it.
 */
export function createCancelJob(dependencies: MediaTaskDependencies) {
  const { database } = dependencies;
  const close = createClosing(dependencies);

  return async (taskId: string, jobIdOfWorkflow?: string): Promise<void> => {
    const task = await loadTask(database, taskId);
    const last = (await listSubmissions(database, taskId)).at(-1);
    const upstream = upstreamOf(dependencies, task);
    const found = last?.outcome === null ? await close(task, last, upstream) : null;
    const jobId = task.providerJobId ?? last?.jobId ?? found ?? jobIdOfWorkflow;
    if (jobId !== undefined) await upstream.cancel(jobId, Context.current().cancellationSignal);
  };
}
