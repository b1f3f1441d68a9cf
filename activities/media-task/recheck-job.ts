import { Context } from '@temporalio/activity';
import { type StoredSubmission, listSubmissions } from '../../db/queries/submissions.ts';
import { RECHECK, STORE_LIMIT_MS } from '../../domain/step-limits.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import { retryAfterRequestedWait } from './requested-wait.ts';
import type { JobState } from '../../providers/media/adapter.ts';
import { createVerdictReader } from './read-verdict.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { createCostRecorder } from './record-cost.ts';
import { createNoResultRecorder } from './record-no-result.ts';
import { createSubmissionCloser, createForgottenJobFinder } from './recover.ts';
import { throwIfFailed } from './task-failure.ts';

/** The files or the job of a task whose deadline has passed. */
export type RecheckResult =
  /** The stored files of the task. */
  | { readonly state: 'stored'; readonly files: readonly GeneratedMedia[] }
  /** The job ended in time; its files are not stored yet. */
  | { readonly state: 'rendered'; readonly jobId: string }
  | { readonly state: 'nothing' };

const NOTHING: RecheckResult = { state: 'nothing' };

/**
 * Looks once more at a task whose deadline has passed: Temporal or all workers may have been unavailable when its render
 * ended. A render counts from when it ended at the vendor; one whose vendor does not say when is taken to be in time.
 *
 * @param jobIdOfWorkflow counts where the database was restored to a moment before the job
 * @throws ApplicationFailure with the upstream's code if the job failed in time
 * @throws Error if the upstream may be able to say later
 */
export function createRecheckJob(dependencies: MediaTaskDependencies) {
  const { database } = dependencies;
  const close = createSubmissionCloser(dependencies);
  const findForgotten = createForgottenJobFinder(dependencies);
  const recordCost = createCostRecorder(dependencies);
  const recordNoResult = createNoResultRecorder(dependencies);
  const readVerdict = createVerdictReader(dependencies);

  return async (taskId: string, jobIdOfWorkflow?: string): Promise<RecheckResult> => {
    const task = await loadTask(database, taskId);
    throwIfFailed(task);
    const last = (await listSubmissions(database, taskId)).at(-1);
    const files = task.output ?? last?.files;
    if (files) return isInTime(task, last?.endedAt) ? { state: 'stored', files } : NOTHING;
    const jobId = (await findJob(task, last)) ?? jobIdOfWorkflow ?? null;
    if (jobId === null) return NOTHING;
    const upstream = upstreamOf(dependencies, task);
    const state = await upstream
      .status(jobId, Context.current().cancellationSignal)
      .catch((error: unknown) => failAttempt(task, error));
    if (state.state === 'unknown') {
      return failAttempt(task, new Error('The upstream does not know the job at the moment.'));
    }
    if (state.state === 'failed') {
      const verdict = await readVerdict(task, upstream, state);
      if (isInTime(task, state.endedAt)) throw verdict;
    }
    if (state.state === 'running') await recordNoResult(task, 'processing_timeout', progressOf(state));
    if (state.state !== 'succeeded') return NOTHING;
    await recordCost(task, state.cost ?? null);
    return isInTime(task, state.endedAt) ? { state: 'rendered', jobId } : NOTHING;
  };

  /** Without a verdict at the last attempt, operators read why the upstream gave none. */
  async function failAttempt(task: Task, error: unknown): Promise<never> {
    if (error instanceof Error && Context.current().info.attempt >= RECHECK.attempts) {
      await recordNoResult(task, 'processing_timeout', error.message);
    }
    return retryAfterRequestedWait(error, STORE_LIMIT_MS);
  }

  /** The job of the task, if its upstream answers with jobs. */
  async function findJob(task: Task, last: StoredSubmission | undefined): Promise<string | null> {
    const known = task.providerJobId ?? last?.jobId ?? null;
    if (known !== null || (last && last.outcome !== null)) return known;
    const upstream = upstreamOf(dependencies, task);
    if (upstream.traitsOf(task.kind)?.answers !== 'job') return null;
    return last ? close(task, last, upstream) : findForgotten(task, upstream);
  }
}

/** The upstream's last words about a job that did not end in time. */
function progressOf({ detail, progressPercent }: Extract<JobState, { state: 'running' }>): string {
  return [detail ?? 'running', ...(progressPercent === null ? [] : [`${progressPercent}%`])].join(', ');
}

function isInTime({ deadlineAt }: Task, endedAt: Date | null | undefined): boolean {
  return !endedAt || endedAt <= deadlineAt;
}
