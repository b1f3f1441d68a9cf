import { Context } from '@temporalio/activity';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { createCostRecorder } from './record-cost.ts';

const STATUS_CHECKS = 4;
const PAUSE_MS = 500;

/**
 * Makes sure that the upstream renders nothing for a task whose customer cancels it. Asks the upstream to stop where it
 * has a job, and believes only what it reports afterwards.
 *
 * @returns null if the upstream surely renders nothing; otherwise the reason, for the customer
 */
export function createWithdrawJob(dependencies: MediaTaskDependencies) {
  const { database } = dependencies;
  const recordCost = createCostRecorder(dependencies);

  return async (taskId: string): Promise<string | null> => {
    const task = await loadTask(database, taskId);
    const submissions = await listSubmissions(database, taskId);
    const last = submissions.at(-1);
    if (last === undefined) return null;
    if (last.files !== null) return TASK_MESSAGES.rendered;
    if (last.outcome === null || last.outcome === 'unknown') return TASK_MESSAGES.submitting;
    const jobId = task.providerJobId ?? last.jobId;
    if (jobId === null) return null;
    const upstream = upstreamOf(dependencies, task);
    if (!upstream.canCancel) return TASK_MESSAGES.unstoppable;
    const { cancellationSignal } = Context.current();
    await upstream.cancel(jobId, cancellationSignal);
    for (let check = 1; check <= STATUS_CHECKS; check += 1) {
      const state = await upstream.status(jobId, cancellationSignal);
      if (state.state === 'succeeded') return TASK_MESSAGES.rendered;
      if (state.state === 'failed') await recordCost(task, state.cost ?? null, false);
      if (state.state !== 'running') return null;
      await Context.current().sleep(PAUSE_MS);
    }
    return TASK_MESSAGES.rendering;
  };
}
