/** Waits for a render whose task was refunded for time, and keeps it for the customer to claim. */
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { MediaTaskActivities, RouteSteps } from '../activities/media-task/media-task.ts';
import { HEARTBEAT_TIMEOUT_MS, LATE_RESULT_LIMIT_MS, STORE_LIMIT_MS } from '../domain/step-limits.ts';

export interface LateResultInput extends Pick<RouteSteps, 'taskQueue'> {
  readonly taskId: string;
  /** The provider's. */
  readonly jobId: string;
}

/** @returns whether a result was kept */
export async function lateResult({ taskId, jobId, ...queue }: LateResultInput): Promise<boolean> {
  const { awaitResult } = proxyActivities<MediaTaskActivities>({
    ...queue,
    scheduleToCloseTimeout: LATE_RESULT_LIMIT_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { initialInterval: '1 second', backoffCoefficient: 1 },
    summary: 'Wait for the provider after the refund',
  });
  const { keepLateResult } = proxyActivities<MediaTaskActivities>({
    ...queue,
    scheduleToCloseTimeout: STORE_LIMIT_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
    summary: 'Store the result, and offer it to the customer',
  });
  setCurrentDetails(`The task was refunded. Waiting whether job ${jobId} ends all the same.`);
  const isKept = await awaitResult(taskId, jobId, false)
    .then(() => keepLateResult(taskId, jobId))
    .then(
      () => true,
      // The history shows why: the provider failed the job or lost it, its result is at fault, or the time is over.
      () => false,
    );
  setCurrentDetails(isKept ? 'The result is offered to the customer.' : 'Ended: there is no result.');
  return isKept;
}
