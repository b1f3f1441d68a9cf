/**
 * Submits a task to an upstream so that it is rendered once, whatever dies when. The submission is committed before
 * anything is sent. An attempt that finds a submission without an outcome first finds out what happened to it (`recover.ts`),
 * and sends nothing before that. What was certainly not accepted is submitted again, to the next route or later.
 */
import { type StoredSubmission, listSubmissions } from '../../db/queries/submissions.ts';
import { isTaskErrorCode } from '../../domain/errors.ts';
import type { GeneratedMedia } from '../../domain/task.ts';
import { JobRefusedError, NotTakenError } from '../../providers/media/outcomes.ts';
import { loadTaskStep, type MediaTaskDependencies } from './dependencies.ts';
import type { Heartbeat } from '../liveness.ts';
import { createRecovery } from './recover.ts';
import { type RouteSteps, stepsOf } from './routes.ts';
import { createSubmit, type Submitted } from './submit.ts';
import {
  taskFailure,
  throwIfFailed,
  throwIfStoreUnavailable,
  transferFailedError,
  unavailable,
} from './task-failure.ts';
import { createFailover } from './failover.ts';

const NO_JOB = 'the upstream has no job for it';

/** The state of the task after an attempt to submit its job. */
export type UpstreamSubmission =
  | Submitted
  /** An earlier attempt stored the files. */
  | { readonly state: 'stored'; readonly files: readonly GeneratedMedia[] }
  /** The next route follows, whose steps run elsewhere. */
  | { readonly state: 'moving'; readonly steps: RouteSteps };

export function createUpstreamSubmission(dependencies: MediaTaskDependencies) {
  const { database, storage } = dependencies;
  const recover = createRecovery(dependencies);
  const failover = createFailover(dependencies);
  const submit = createSubmit(dependencies, failover);

  /**
   * Continues submitting a task, wherever an earlier attempt left off.
   *
   * @param here the work of the calling step, and its queue
   * @throws ApplicationFailure with the code of a final refusal; one that is retried while no upstream accepts the job
   */
  return async function submitToUpstream(
    taskId: string,
    here: RouteSteps,
    heartbeat: Heartbeat,
  ): Promise<UpstreamSubmission> {
    for (;;) {
      const { task, submissionCount } = await loadTaskStep(database, taskId);
      throwIfFailed(task);
      const submissions = submissionCount === 0 ? [] : await listSubmissions(database, taskId);
      const last = submissions.at(-1);
      // The callback may have revealed the job since the task was read.
      const jobId = task.providerJobId ?? last?.jobId ?? null;
      if (jobId !== null) return { state: 'waiting', jobId };
      if (last?.outcome === 'accepted') return storedEarlier(last);
      if (last?.outcome === 'refused') throw refusedEarlier(last);
      if (last?.outcome === 'unknown' && !isSentAgain(submissions)) throw unavailable();
      if (last?.outcome === null) {
        const outcome = await recover(task, last, heartbeat);
        if (outcome === 'not_taken') await failover.throwUnlessElsewhere(task, new NotTakenError(NO_JOB));
        continue;
      }
      const candidate = await failover.choose(task, submissions);
      const steps = stepsOf(dependencies, candidate);
      if (steps.answers !== here.answers || steps.taskQueue !== here.taskQueue) return { state: 'moving', steps };
      if (submissions.length === 0) await throwIfStoreUnavailable(storage);
      await failover.started(candidate);
      const submitted = await submit(task, candidate, submissions.length + 1);
      if (submitted) return submitted;
    }
  };

  /** Whether a submission with an unknown outcome is sent again: once, and only where the operator wants that. */
  function isSentAgain(submissions: readonly StoredSubmission[]): boolean {
    const [lost, ...others] = submissions.filter(({ outcome }) => outcome === 'unknown');
    return others.length === 0 && dependencies.upstreams.get(lost?.provider ?? '')?.onUnknown === 'resubmit';
  }
}

function storedEarlier({ files }: StoredSubmission): UpstreamSubmission {
  if (files) return { state: 'stored', files };
  throw transferFailedError();
}

/** The verdict that an earlier attempt recorded, and died before it could fail with it. */
function refusedEarlier({ code, detail }: StoredSubmission): Error {
  const refused = new JobRefusedError(code !== null && isTaskErrorCode(code) ? code : 'processing_failed', detail);
  return taskFailure(refused.code, refused.message, refused.detail);
}
