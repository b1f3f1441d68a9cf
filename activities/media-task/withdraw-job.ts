import { Context } from '@temporalio/activity';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { createCostRecorder } from './record-cost.ts';

const STATUS_CHECKS = 4;
const PAUSE_MS = 500;

const REASONS = {
  unknown: 'The task is being handed to the model right now. Try again in a few seconds.',
  unstoppable: 'The task is being rendered, and this model cannot be stopped. It will be charged when it succeeds.',
  rendering: 'The task is being rendered, and the model did not stop. It will be charged when it succeeds.',
  rendered: 'The task has been rendered, and will be charged.',
} as const;

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
    if (last.files !== null) return REASONS.rendered;
    if (last.outcome === null || last.outcome === 'unknown') return REASONS.unknown;
    const jobId = task.providerJobId ?? last.jobId;
    if (jobId === null) return null;
    const upstream = upstreamOf(dependencies, task);
    if (!upstream.canCancel) return REASONS.unstoppable;
    const { cancellationSignal } = Context.current();
    await upstream.cancel(jobId, cancellationSignal);
    for (let check = 1; check <= STATUS_CHECKS; check += 1) {
      const state = await upstream.status(jobId, cancellationSignal);
      if (state.state === 'succeeded') return REASONS.rendered;
      if (state.state === 'failed') await recordCost(task, state.cost ?? null, false);
      if (state.state !== 'running') return null;
      await Context.current().sleep(PAUSE_MS);
    }
    return REASONS.rendering;
  };
}
