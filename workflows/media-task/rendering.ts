/** The part of a task at its provider: submitting the job, waiting for it, storing its files, stopping it. */
import { defineSignal, isCancellation, setCurrentDetails, setHandler, sleep } from '@temporalio/workflow';
import type { NextRoute, RenderedJob, RouteSteps } from '../../activities/media-task/media-task.ts';
import { STORE_UNAVAILABLE_PAUSE_MS } from '../../domain/step-limits.ts';
import type { GeneratedMedia } from '../../domain/task.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import type { CustomerCancellation } from '../customer-cancellation.ts';
import { type Ending, failAs, isStoreUnavailable, ranOutOfTime, timeLeftMs, verdictOf } from './endings.ts';
import { type ProviderQueue, step } from './steps.ts';

/** The route that is being tried, and the provider's job once there is one. */
interface Route {
  steps: RouteSteps;
  jobId?: string;
}

/** The facts that the steps of a task share. */
export interface Run {
  readonly taskId: string;
  readonly price: string;
  readonly deadlineMs: number;
  readonly route: Route;
  readonly cancellation: CustomerCancellation;
}

/** Sent when the provider announces that the job has ended, so that the task does not wait for the next poll. */
export const jobEnded = defineSignal('jobEnded');

/**
 * Dispatches the job, or renders where the provider answers with files. While our own store is down, waits without
 * calling the provider.
 *
 * @returns the provider's job, the stored files if the provider answered with them, or the next route to try
 */
export async function submit(run: Run) {
  const { taskId, deadlineMs, cancellation, route } = run;
  for (;;) {
    setCurrentDetails(
      'Submitting the job to the provider. If this keeps failing, the pending activity shows its last failure.',
    );
    const attempt = () => attemptSubmission(taskId, route.steps, timeLeftMs(deadlineMs));
    try {
      if (route.steps.answers === 'job') return await cancellation.runUnlessCancelled(attempt, () => withdrawJob(run));
      cancellation.refuse(TASK_MESSAGES.unstoppable);
      const submitted = await attempt();
      cancellation.allow();
      return submitted;
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      cancellation.allow();
      setCurrentDetails('Waiting for the store to come back: a result could not be stored now.');
      const pauseMs = Math.min(STORE_UNAVAILABLE_PAUSE_MS, timeLeftMs(deadlineMs));
      await cancellation.runUnlessCancelled(
        () => sleep(pauseMs, { summary: 'Before the store is tried again' }),
        () => withdrawJob(run),
      );
    }
  }
}

function attemptSubmission(
  taskId: string,
  steps: RouteSteps,
  scheduleToCloseTimeout: number,
): Promise<string | NextRoute | readonly GeneratedMedia[]> {
  const name = steps.answers === 'files' ? 'render' : 'dispatch';
  return step(name, steps, { scheduleToCloseTimeout })(taskId);
}

/** One long activity. When the provider announces the end, a new one asks for the result immediately. */
export async function awaitResult(run: Run, jobId: string): Promise<RenderedJob> {
  const { taskId, deadlineMs, route, cancellation } = run;
  let announced = false;
  setHandler(jobEnded, () => {
    announced = true;
    cancellation.stopStep();
  });
  const attempt = () => {
    setCurrentDetails(
      `Waiting for job ${jobId} until ${new Date(deadlineMs).toISOString()} at the latest. ` +
        'The heartbeat of the pending activity shows what the provider last reported.',
    );
    // The end may have been announced before this activity started.
    const isAnnounced = announced;
    announced = false;
    return step('awaitResult', route.steps, {
      scheduleToCloseTimeout: timeLeftMs(deadlineMs),
      ...(isAnnounced && { summary: 'Ask for the result: the provider has announced the end' }),
    })(taskId, jobId, isAnnounced);
  };
  for (;;) {
    try {
      return await cancellation.runUnlessCancelled(attempt, () => withdrawJob(run));
    } catch (error) {
      if (!announced || !isCancellation(error)) throw error;
    }
  }
}

export function storeResult(taskId: string, jobId: string, queue: ProviderQueue): Promise<readonly GeneratedMedia[]> {
  setCurrentDetails(
    `The provider has finished job ${jobId}. Storing and checking the result. ` +
      'If this keeps failing, the pending activity shows its last failure.',
  );
  return step('storeResult', queue)(taskId, jobId).catch(failAs('result_transfer_failed', TASK_MESSAGES.notStored));
}

/**
 * Looks once more at the provider before a refund for time: Temporal or all workers may have been unavailable when the
 * render ended.
 *
 * @param error why the task was not produced
 * @throws the error, unless the deadline is the reason and the render ended before it
 */
export async function recheckAfterDeadline(
  { taskId, route: { steps, jobId }, cancellation }: Run,
  error: unknown,
): Promise<Ending> {
  if (!ranOutOfTime(error)) throw error;
  cancellation.refuse(TASK_MESSAGES.ended);
  setCurrentDetails('The deadline has passed. Looking once more whether the render ended before it.');
  const found = await step('recheckJob', steps)(taskId, jobId).catch((failure: unknown) => {
    throw isCancellation(failure) || verdictOf(failure) ? failure : error;
  });
  if (found.state === 'nothing') throw error;
  const output = found.state === 'stored' ? found.files : await storeResult(taskId, found.jobId, steps);
  return { status: 'succeeded', output };
}

/** @returns null if the provider surely renders nothing; otherwise the reason, for the customer */
export function withdrawJob({ taskId, route: { steps } }: Run): Promise<string | null> {
  setCurrentDetails('The customer cancels the task. Making sure that the provider renders nothing.');
  return step(
    'withdrawJob',
    steps,
  )(taskId).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return TASK_MESSAGES.unconfirmed;
  });
}

/** Does what it can within its time, without an error. */
export async function cancelJob(taskId: string, { steps, jobId }: Route): Promise<void> {
  await step('cancelJob', steps)(taskId, jobId).catch(() => undefined);
}
