/** The steps of a media task as Temporal runs them: for how long, how often again, and under which summary. */
import {
  ActivityCancellationType,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { MediaTaskActivities, Resolution, RouteSteps } from '../../activities/media-task/media-task.ts';
import {
  CANCEL_LIMIT_MS,
  HEARTBEAT_TIMEOUT_MS,
  RECHECK,
  STORE_LIMIT_MS,
  WITHDRAW_LIMIT_MS,
} from '../../domain/step-limits.ts';
import { reasonOf } from '../../domain/task.ts';
import type { Ending } from './endings.ts';

/** The task queue of the steps that call the provider, if it is not the workflow's own. */
export type ProviderQueue = Pick<RouteSteps, 'taskQueue'>;

/** These steps only write to PostgreSQL, and repeating them changes nothing, so they need no task of their own. */
const { reserve } = proxyLocalActivities<MediaTaskActivities>({ startToCloseTimeout: '10 seconds' });
const { settle, refund } = proxyLocalActivities<MediaTaskActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

const BACKOFF = { initialInterval: '1 second', maximumInterval: '15 seconds' } as const;
const EVERY_SECOND = { initialInterval: '1 second', backoffCoefficient: 1 } as const;

/** A submission in progress may still be accepted; only then is there a job to cancel. */
const SUBMISSION = {
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: BACKOFF,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;

/** Steps that may take until the deadline of the task get their time when they start. */
const STEPS = {
  dispatch: { ...SUBMISSION, summary: 'Submit the job to the provider' },
  render: { ...SUBMISSION, summary: 'Have the provider render, and store the files' },
  awaitResult: { heartbeatTimeout: HEARTBEAT_TIMEOUT_MS, retry: EVERY_SECOND, summary: 'Wait for the provider' },
  storeResult: {
    scheduleToCloseTimeout: STORE_LIMIT_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: BACKOFF,
    summary: 'Store and check the result',
  },
  recheckJob: {
    startToCloseTimeout: RECHECK.attemptMs,
    // Far more than the attempts take, because workers may be unavailable again.
    scheduleToCloseTimeout: STORE_LIMIT_MS,
    retry: { initialInterval: RECHECK.pauseMs, backoffCoefficient: 1, maximumAttempts: RECHECK.attempts },
    summary: 'Look once more whether the render ended in time',
  },
  withdrawJob: {
    scheduleToCloseTimeout: WITHDRAW_LIMIT_MS,
    retry: { initialInterval: '1 second' },
    summary: 'The customer cancels: ask the provider to stop',
  },
  cancelJob: {
    startToCloseTimeout: '15 seconds',
    scheduleToCloseTimeout: CANCEL_LIMIT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary: 'Cancel the job at the provider',
  },
} as const satisfies Partial<Record<keyof MediaTaskActivities, ActivityOptions>>;

/** A step that calls the provider or the store. @param options in addition to those of the table, or in their place */
export function step<Name extends keyof typeof STEPS>(
  name: Name,
  queue: ProviderQueue,
  options: ActivityOptions = {},
): ActivityInterfaceFor<MediaTaskActivities>[Name] {
  return proxyActivities<MediaTaskActivities>({ ...queueOf(queue), ...STEPS[name], ...options })[name];
}

/** The task queue of a route alone. */
export function queueOf({ taskQueue }: ProviderQueue): ProviderQueue {
  return taskQueue === undefined ? {} : { taskQueue };
}

export function confirmReservation(taskId: string, price: string) {
  return reserve.executeWithOptions({ summary: `Confirm the reservation of ${price}` }, [taskId]);
}

/** Ends the task with its money, by its ending. */
export function settleOrRefund(taskId: string, price: string, ending: Ending): Promise<Resolution> {
  if (ending.status === 'succeeded') {
    setCurrentDetails(`Charging ${price}.`);
    return settle.executeWithOptions({ summary: `Charge ${price}` }, [taskId, ending.output]);
  }
  const { code, message, cancelledBy } = ending.failure;
  const reason = reasonOf(ending.failure);
  setCurrentDetails(`Refunding ${price}: ${reason}. ${message}`);
  return refund.executeWithOptions({ summary: `Refund ${price}: ${reason}` }, [taskId, code, message, cancelledBy]);
}
