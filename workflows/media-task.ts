/**
 * A media task, from its reservation to its end. The workflow only orders the steps and compensates for failed ones:
 * once the price is reserved, every way out of this function passes through `settle` or `refund`.
 */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  startChild,
  TimeoutFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { MediaTaskActivities, Resolution, RouteSteps } from '../activities/media-task/media-task.ts';
import { isTaskErrorCode, type TaskErrorCode } from '../domain/errors.ts';
import {
  CANCEL_LIMIT_MS,
  HEARTBEAT_TIMEOUT_MS,
  MAY_STILL_RENDER,
  RECHECK,
  STORE_AWAY,
  STORE_AWAY_PAUSE_MS,
  STORE_LIMIT_MS,
} from '../domain/step-limits.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';
import { CANCELLED_BY_OPERATOR, type GeneratedMedia, type TaskFailure } from '../domain/task.ts';
import { TASK_QUEUES } from '../domain/task-queues.ts';
import type { webhookDelivery } from './webhook-delivery.ts';

export type { Resolution };

export interface MediaTaskInput {
  readonly taskId: string;
  /** ISO 8601. Processing that has not finished by then fails with `processing_timeout`. */
  readonly deadlineAt: string;
}

/** The workflow's result, with which its history ends, for operators and finance. */
export interface MediaTaskOutcome {
  readonly status: string;
  /** The task's rows in the ledger. */
  readonly reservationId: string;
  readonly resolutionId: string | null;
  readonly failure: TaskFailure | null;
}

/** Sent when the provider announces that the job has ended, so that the task does not wait for the next poll. */
export const jobEnded = defineSignal('jobEnded');

const { reserve } = proxyLocalActivities<MediaTaskActivities>({
  startToCloseTimeout: '10 seconds',
  summary: 'Confirm that the price is reserved',
});

const MONEY = {
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
} as const;
const money = proxyActivities<MediaTaskActivities>(MONEY);
/** Saves Temporal work: these steps only write to PostgreSQL, and repeating them changes nothing. */
const localMoney = proxyLocalActivities<MediaTaskActivities>(MONEY);

/** The task queue of the steps that call the provider, if it is not the workflow's own. */
type ProviderQueue = Pick<RouteSteps, 'taskQueue'>;

/** The one that is being tried, and the job that was got there. */
interface Route {
  current: RouteSteps;
  jobId?: string;
}

/** What holds for a task from its beginning. */
interface Course {
  readonly deadlineMs: number;
  readonly storesAtOnce: boolean;
}

type Ending =
  | { readonly status: 'succeeded'; readonly output: readonly GeneratedMedia[] }
  | { readonly status: 'failed'; readonly failure: TaskFailure; readonly abandonsJob: boolean };

export async function mediaTask({ taskId, deadlineAt }: MediaTaskInput): Promise<MediaTaskOutcome> {
  setCurrentDetails('Confirming that the price is reserved.');
  // A cancellation at this point must lead to the refund, too.
  const {
    reservationId,
    alreadyFinal,
    leavesJob,
    endsLocally = false,
    storesAtOnce = false,
    ...first
  } = await CancellationScope.nonCancellable(() => reserve(taskId));
  if (alreadyFinal) {
    if (leavesJob) await abandonJob(taskId, { current: stepsOf(first) });
    setCurrentDetails('Ended: the task was already final when this workflow began.');
    return { status: 'final before it began', reservationId, resolutionId: null, failure: null };
  }

  const route: Route = { current: stepsOf(first) };
  const ending = await produce(taskId, route, { deadlineMs: Date.parse(deadlineAt), storesAtOnce })
    .catch((error: unknown) => recheck(taskId, route, error))
    .catch(toEnding);

  return CancellationScope.nonCancellable(async () => {
    const resolution = await resolve(taskId, ending, endsLocally);
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcomeOf(ending) }]);
    await startDeliveries(taskId, ending, resolution.deliveryIds);
    if (ending.status === 'failed' && ending.abandonsJob) await abandonJob(taskId, route);
    setCurrentDetails(`Ended: the task is ${resolution.taskStatus}. Ledger row: ${resolution.transferId}.`);
    return {
      status: resolution.taskStatus,
      reservationId,
      resolutionId: resolution.transferId,
      failure: ending.status === 'failed' ? ending.failure : null,
    };
  });
}

/** Tries routes until one has led to stored files. */
async function produce(taskId: string, route: Route, course: Course): Promise<Ending> {
  for (;;) {
    const queue = queueOf(route.current);
    const handedOver = await handOver(taskId, route.current, course.deadlineMs);
    if (typeof handedOver === 'string') {
      route.jobId = handedOver;
      const stored = await awaitResult(taskId, handedOver, queue, course);
      return { status: 'succeeded', output: stored ?? (await storeResult(taskId, handedOver, queue)) };
    }
    if (!('nextRoute' in handedOver)) return { status: 'succeeded', output: handedOver };
    route.current = handedOver.nextRoute;
  }
}

/**
 * Looks once more at the provider before a refund for time: Temporal or all workers may have been unavailable when the
 * render ended.
 *
 * @param error why the task was not produced
 * @throws the error, unless the deadline is the reason and the render ended before it
 */
async function recheck(taskId: string, { current, jobId }: Route, error: unknown): Promise<Ending> {
  if (!ranOutOfTime(error)) throw error;
  const queue = queueOf(current);
  const { recheckJob } = proxyActivities<MediaTaskActivities>({
    ...queue,
    startToCloseTimeout: RECHECK.attemptMs,
    // Far more than the attempts take, because workers may be unavailable again.
    scheduleToCloseTimeout: STORE_LIMIT_MS,
    retry: { initialInterval: RECHECK.pauseMs, backoffCoefficient: 1, maximumAttempts: RECHECK.attempts },
    summary: 'Look once more whether the render ended in time',
  });
  setCurrentDetails('The deadline has passed. Looking once more whether the render ended before it.');
  const found = await recheckJob(taskId, jobId).catch((failure: unknown) => {
    throw isCancellation(failure) || verdictOf(failure) ? failure : error;
  });
  if (found.state === 'nothing') throw error;
  const output = found.state === 'stored' ? found.files : await storeResult(taskId, found.jobId, queue);
  return { status: 'succeeded', output };
}

async function storeResult(taskId: string, jobId: string, queue: ProviderQueue): Promise<readonly GeneratedMedia[]> {
  const { storeResult } = proxyActivities<MediaTaskActivities>({
    ...queue,
    scheduleToCloseTimeout: STORE_LIMIT_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
    summary: 'Store and check the result',
  });
  setCurrentDetails(`The provider has finished job ${jobId}. Storing and checking the result.`);
  return storeResult(taskId, jobId).catch(failAs('result_transfer_failed', MESSAGES.notStored));
}

/**
 * While our own store is down, waits without calling the provider.
 *
 * @returns the provider's job, the files if the provider answered with them, or the next route to try
 */
async function handOver(taskId: string, steps: RouteSteps, deadlineMs: number) {
  for (;;) {
    setCurrentDetails(
      'Submitting the job to the provider. If this keeps failing, the pending activity shows its last failure.',
    );
    try {
      return await attemptHandOver(taskId, steps, timeLeftMs(deadlineMs));
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      setCurrentDetails('Waiting for the store to come back: a result could not be stored now.');
      await sleep(Math.min(STORE_AWAY_PAUSE_MS, timeLeftMs(deadlineMs)));
    }
  }
}

async function attemptHandOver(taskId: string, { answers, ...queue }: RouteSteps, leftMs: number) {
  const answersFiles = answers === 'files';
  const { dispatch, render } = proxyActivities<MediaTaskActivities>({
    ...queue,
    scheduleToCloseTimeout: leftMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
    // A submission in progress may still be accepted; only then is there a job to cancel.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: answersFiles ? 'Have the provider render, and store the files' : 'Submit the job to the provider',
  });
  return answersFiles ? render(taskId) : dispatch(taskId);
}

/**
 * One long activity. When the provider announces the end, a new one asks for the result immediately.
 *
 * @returns null if the result is still to be stored
 */
async function awaitResult(
  taskId: string,
  jobId: string,
  queue: ProviderQueue,
  { deadlineMs, storesAtOnce }: Course,
): Promise<readonly GeneratedMedia[] | null> {
  let announced = false;
  setHandler(jobEnded, () => {
    announced = true;
  });
  setCurrentDetails(
    `Waiting for job ${jobId} until ${new Date(deadlineMs).toISOString()} at the latest. ` +
      'The heartbeat of the pending activity shows what the provider last reported.',
  );
  for (let attempt = 1; ; attempt += 1) {
    // The end may have been announced before this activity began.
    const isAnnounced = announced;
    announced = false;
    const { awaitResult } = proxyActivities<MediaTaskActivities>({
      ...queue,
      scheduleToCloseTimeout: timeLeftMs(deadlineMs),
      heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
      retry: { initialInterval: '1 second', backoffCoefficient: 1 },
      summary:
        (attempt === 1 ? 'Wait for the provider' : 'Ask again: the provider has announced the end') +
        (storesAtOnce ? ', and store the result' : ''),
    });
    const scope = new CancellationScope();
    const verdict = scope.run(() => awaitResult(taskId, jobId, isAnnounced, storesAtOnce));
    const ended = verdict.then(() => true);
    if (await Promise.race([ended, condition(() => announced).then(() => false)])) return filesOf(await verdict);
    scope.cancel();
    const endedAnyway = await ended.catch((error: unknown) => {
      if (isCancellation(error)) return false;
      throw error;
    });
    if (endedAnyway) return filesOf(await verdict);
  }
}

/** @param result the number of files, if none is stored yet */
function filesOf(result: number | readonly GeneratedMedia[]): readonly GeneratedMedia[] | null {
  return typeof result === 'number' ? null : result;
}

/** Does what it can within its time, without an error. */
async function abandonJob(taskId: string, { current, jobId }: Route): Promise<void> {
  const { cancelJob } = proxyActivities<MediaTaskActivities>({
    ...queueOf(current),
    startToCloseTimeout: '15 seconds',
    scheduleToCloseTimeout: CANCEL_LIMIT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary: 'Cancel the job at the provider',
  });
  await cancelJob(taskId, jobId).catch(() => undefined);
}

async function resolve(taskId: string, ending: Ending, isLocal: boolean): Promise<Resolution> {
  const { settle, refund } = isLocal ? localMoney : money;
  if (ending.status === 'succeeded') {
    setCurrentDetails('Charging the reserved price.');
    return settle.executeWithOptions({ summary: 'Charge the reserved price' }, [taskId, ending.output]);
  }
  const { code, message } = ending.failure;
  setCurrentDetails(`Refunding the reserved price: ${code}. ${message}`);
  return refund.executeWithOptions({ summary: `Refund the reserved price: ${code}` }, [taskId, code, message]);
}

async function startDeliveries(taskId: string, ending: Ending, deliveryIds: readonly string[]): Promise<void> {
  const account = workflowInfo().typedSearchAttributes.get(SEARCH_ATTRIBUTES.account);
  const eventType = `task.${ending.status}`;
  for (const deliveryId of deliveryIds) {
    try {
      await startChild<typeof webhookDelivery>('webhookDelivery', {
        workflowId: deliveryId,
        taskQueue: TASK_QUEUES.webhooks,
        args: [{ deliveryId }],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: `Deliver ${eventType} to a webhook endpoint`,
        memo: { task_id: taskId },
        typedSearchAttributes: [
          ...(account === undefined ? [] : [{ key: SEARCH_ATTRIBUTES.account, value: account }]),
          { key: SEARCH_ATTRIBUTES.kind, value: eventType },
        ],
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
}

const MESSAGES = {
  timedOut: 'Processing did not finish in time. Nothing was charged; send the request again.',
  notStored: 'The result was generated but could not be stored. Nothing was charged; send the request again.',
  failed: 'Processing failed on the service side. Nothing was charged; send the request again.',
} as const;

const TIMED_OUT = { code: 'processing_timeout', message: MESSAGES.timedOut } as const;

function stepsOf(first: { readonly providerQueue?: string; readonly answersFiles?: true }): RouteSteps {
  return {
    answers: first.answersFiles ? 'files' : 'job',
    ...(first.providerQueue !== undefined && { taskQueue: first.providerQueue }),
  };
}

function queueOf({ taskQueue }: RouteSteps): ProviderQueue {
  return taskQueue === undefined ? {} : { taskQueue };
}

function timeLeftMs(deadlineMs: number): number {
  const leftMs = deadlineMs - Date.now();
  if (leftMs <= 0) throw ApplicationFailure.nonRetryable(TIMED_OUT.message, TIMED_OUT.code);
  return leftMs;
}

/** Gives a step that ran out of attempts or time the matching error code; a verdict of the provider keeps its own. */
function failAs(code: TaskErrorCode, message: string): (error: unknown) => never {
  return (error) => {
    if (isCancellation(error) || verdictOf(error)) throw error;
    throw ApplicationFailure.nonRetryable(message, code);
  };
}

function toEnding(error: unknown): Ending {
  if (isCancellation(error)) {
    return { status: 'failed', failure: CANCELLED_BY_OPERATOR, abandonsJob: true };
  }
  const verdict = verdictOf(error);
  if (verdict) return { status: 'failed', failure: verdict, abandonsJob: mayStillRender(error, verdict) };
  if (ranOutOfTime(error)) return { status: 'failed', failure: TIMED_OUT, abandonsJob: true };
  return { status: 'failed', failure: { code: 'processing_failed', message: MESSAGES.failed }, abandonsJob: true };
}

/** If the provider gave the verdict, or has a result, its job is over; if the task was given up, it may not be. */
function mayStillRender(error: unknown, { code }: TaskFailure): boolean {
  if (!(error instanceof ActivityFailure)) return code !== 'result_transfer_failed';
  return error.cause instanceof ApplicationFailure && error.cause.details?.[0] === MAY_STILL_RENDER;
}

/** Whether the deadline ended the task, whatever the last attempt of a step failed with. */
function ranOutOfTime(error: unknown): boolean {
  if (!(error instanceof ActivityFailure)) return verdictOf(error)?.code === TIMED_OUT.code;
  return error.retryState === 'TIMEOUT' || error.cause instanceof TimeoutFailure;
}

/** The task error that an activity or this workflow failed with; null if it failed with anything else. */
function verdictOf(error: unknown): TaskFailure | null {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (!(failure instanceof ApplicationFailure) || !failure.type || !isTaskErrorCode(failure.type)) return null;
  return { code: failure.type, message: failure.message };
}

function isStoreAway(error: unknown): boolean {
  return (
    error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && error.cause.type === STORE_AWAY
  );
}

function outcomeOf(ending: Ending): string {
  return ending.status === 'succeeded' ? 'succeeded' : ending.failure.code;
}
