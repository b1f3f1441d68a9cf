/**
 * A media task, from its reservation to its end. The workflow only orders the steps and compensates for failed ones:
 * once the price is reserved, every way out of this function passes through `settle` or `refund`.
 */
import {
  ActivityCancellationType,
  ActivityFailure,
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  type ChildWorkflowOptions,
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
import type { MediaTaskActivities, RenderedJob, Resolution, RouteSteps } from '../activities/media-task/media-task.ts';
import { isTaskErrorCode, type TaskErrorCode } from '../../domain/errors.ts';
import {
  CANCEL_LIMIT_MS,
  HEARTBEAT_TIMEOUT_MS,
  MAY_STILL_RENDER,
  RECHECK,
  STORE_UNAVAILABLE,
  STORE_UNAVAILABLE_PAUSE_MS,
  STORE_LIMIT_MS,
  WITHDRAW_LIMIT_MS,
} from '../../domain/step-limits.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import {
  CANCELLED_BY_CUSTOMER,
  CANCELLED_BY_OPERATOR,
  type GeneratedMedia,
  lateResultIdOf,
  type TaskFailure,
  reasonOf,
} from '../../domain/task.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { CancelledByCustomerError, CustomerCancellation } from './customer-cancellation.ts';
import type { lateResult } from './late-result.ts';
import type { webhookDelivery } from './webhook-delivery.ts';

export type { Resolution };

export interface MediaTaskInput {
  readonly taskId: string;
  /** ISO 8601. Processing that has not finished by then fails with `processing_timeout`. */
  readonly deadlineAt: string;
  /** Such as `$0.96`, for the summaries of the steps that move money. */
  readonly price: string;
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

/** These steps only write to PostgreSQL, and repeating them changes nothing, so they need no task of their own. */
const { reserve } = proxyLocalActivities<MediaTaskActivities>({
  startToCloseTimeout: '10 seconds',
});
const { settle, refund } = proxyLocalActivities<MediaTaskActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** The task queue of the steps that call the provider, if it is not the workflow's own. */
type ProviderQueue = Pick<RouteSteps, 'taskQueue'>;

/** The route that is being tried, and the provider's job once there is one. */
interface Route {
  steps: RouteSteps;
  jobId?: string;
}

/** The facts that the steps of a task share. */
interface Run {
  readonly taskId: string;
  readonly deadlineMs: number;
  readonly route: Route;
  readonly cancellation: CustomerCancellation;
}

type Ending =
  | { readonly status: 'succeeded'; readonly output: readonly GeneratedMedia[] }
  | { readonly status: 'failed'; readonly failure: TaskFailure; readonly hasJobToCancel: boolean };

export async function mediaTask({ taskId, deadlineAt, price }: MediaTaskInput): Promise<MediaTaskOutcome> {
  const cancellation = new CustomerCancellation();
  setCurrentDetails('Confirming that the price is reserved.');
  // A cancellation at this point must lead to the refund, too.
  const reservation = await CancellationScope.nonCancellable(() =>
    reserve.executeWithOptions({ summary: `Confirm that ${price} are reserved` }, [taskId]),
  );
  const { reservationId } = reservation;
  if (reservation.isFinal) {
    cancellation.refuse(MESSAGES.ended);
    if (reservation.hasJobToCancel) await cancelJob(taskId, { steps: { answers: 'job' } });
    await condition(allHandlersFinished);
    setCurrentDetails('Ended: the task was already final when this workflow started.');
    return { status: 'final before it began', reservationId, resolutionId: null, failure: null };
  }

  const route: Route = { steps: reservation.steps };
  const run = { taskId, deadlineMs: Date.parse(deadlineAt), route, cancellation };
  const ending = await produce(run)
    .catch((error: unknown) => recheck(run, error))
    .catch(toEnding);

  return CancellationScope.nonCancellable(async () => {
    const resolution = await resolve(taskId, ending, price);
    cancellation.answer(
      isCancelledByCustomer(ending) ? { isCancelled: true } : { isCancelled: false, reason: MESSAGES.ended },
    );
    cancellation.refuse(MESSAGES.ended);
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcomeOf(ending) }]);
    await startDeliveries(taskId, ending, resolution.deliveryIds);
    if (ending.status === 'failed' && ending.hasJobToCancel) await cancelJob(taskId, route);
    if (ending.status === 'failed' && ending.failure.code === TIMED_OUT.code) await awaitLateResult(taskId, route);
    await condition(allHandlersFinished);
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
async function produce(run: Run): Promise<Ending> {
  const { taskId, route, deadlineMs, cancellation } = run;
  for (;;) {
    const submitted = await submit(run);
    if (typeof submitted === 'string') {
      route.jobId = submitted;
      const queue = queueOf(route.steps);
      const { endedAt } = await cancellation.whileNone(
        () => awaitResult(taskId, submitted, queue, deadlineMs),
        () => withdrawJob(run),
      );
      if (isLate(endedAt, deadlineMs)) throw timedOut();
      cancellation.refuse(MESSAGES.rendered);
      return { status: 'succeeded', output: await storeResult(taskId, submitted, queue) };
    }
    if (!('nextRoute' in submitted)) return { status: 'succeeded', output: submitted };
    route.steps = submitted.nextRoute;
  }
}

/**
 * Dispatches the job, or renders where the provider answers with files. While our own store is down, waits without
 * calling the provider.
 *
 * @returns the provider's job, the stored files if the provider answered with them, or the next route to try
 */
async function submit(run: Run) {
  const { taskId, deadlineMs, cancellation, route } = run;
  for (;;) {
    setCurrentDetails(
      'Submitting the job to the provider. If this keeps failing, the pending activity shows its last failure.',
    );
    const attempt = () => attemptSubmission(taskId, route.steps, timeLeftMs(deadlineMs));
    try {
      if (route.steps.answers === 'job') return await cancellation.whileNone(attempt, () => withdrawJob(run));
      cancellation.refuse(MESSAGES.unstoppable);
      const submitted = await attempt();
      cancellation.allow();
      return submitted;
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      cancellation.allow();
      setCurrentDetails('Waiting for the store to come back: a result could not be stored now.');
      const pauseMs = Math.min(STORE_UNAVAILABLE_PAUSE_MS, timeLeftMs(deadlineMs));
      await cancellation.whileNone(
        () => sleep(pauseMs),
        () => withdrawJob(run),
      );
    }
  }
}

async function attemptSubmission(taskId: string, { answers, ...queue }: RouteSteps, leftMs: number) {
  const hasFiles = answers === 'files';
  const { dispatch, render } = proxyActivities<MediaTaskActivities>({
    ...queue,
    scheduleToCloseTimeout: leftMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
    // A submission in progress may still be accepted; only then is there a job to cancel.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: hasFiles ? 'Have the provider render, and store the files' : 'Submit the job to the provider',
  });
  return hasFiles ? render(taskId) : dispatch(taskId);
}

/** One long activity. When the provider announces the end, a new one asks for the result immediately. */
async function awaitResult(
  taskId: string,
  jobId: string,
  queue: ProviderQueue,
  deadlineMs: number,
): Promise<RenderedJob> {
  let announced = false;
  setHandler(jobEnded, () => {
    announced = true;
  });
  setCurrentDetails(
    `Waiting for job ${jobId} until ${new Date(deadlineMs).toISOString()} at the latest. ` +
      'The heartbeat of the pending activity shows what the provider last reported.',
  );
  for (let attempt = 1; ; attempt += 1) {
    // The end may have been announced before this activity started.
    const isAnnounced = announced;
    announced = false;
    const { awaitResult } = proxyActivities<MediaTaskActivities>({
      ...queue,
      scheduleToCloseTimeout: timeLeftMs(deadlineMs),
      heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
      retry: { initialInterval: '1 second', backoffCoefficient: 1 },
      summary: attempt === 1 ? 'Wait for the provider' : 'Ask again: the provider has announced the end',
    });
    const scope = new CancellationScope();
    const ended = scope.run(() => awaitResult(taskId, jobId, isAnnounced));
    const rendered = await Promise.race([ended, condition(() => announced).then(() => null)]);
    if (rendered) return rendered;
    scope.cancel();
    const renderedAnyway = await ended.catch((error: unknown) => {
      if (isCancellation(error)) return null;
      throw error;
    });
    if (renderedAnyway) return renderedAnyway;
  }
}

async function storeResult(taskId: string, jobId: string, queue: ProviderQueue): Promise<readonly GeneratedMedia[]> {
  const { storeResult } = proxyActivities<MediaTaskActivities>({
    ...queue,
    scheduleToCloseTimeout: STORE_LIMIT_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
    summary: 'Store and check the result',
  });
  setCurrentDetails(
    `The provider has finished job ${jobId}. Storing and checking the result. ` +
      'If this keeps failing, the pending activity shows its last failure.',
  );
  return storeResult(taskId, jobId).catch(failAs('result_transfer_failed', MESSAGES.notStored));
}

/**
 * Looks once more at the provider before a refund for time: Temporal or all workers may have been unavailable when the
 * render ended.
 *
 * @param error why the task was not produced
 * @throws the error, unless the deadline is the reason and the render ended before it
 */
async function recheck({ taskId, route: { steps, jobId }, cancellation }: Run, error: unknown): Promise<Ending> {
  if (!ranOutOfTime(error)) throw error;
  cancellation.refuse(MESSAGES.ended);
  const queue = queueOf(steps);
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

/** @returns null if the provider surely renders nothing; otherwise the reason, for the customer */
async function withdrawJob({ taskId, route: { steps } }: Run): Promise<string | null> {
  const { withdrawJob } = proxyActivities<MediaTaskActivities>({
    ...queueOf(steps),
    scheduleToCloseTimeout: WITHDRAW_LIMIT_MS,
    retry: { initialInterval: '1 second' },
    summary: 'The customer cancels: ask the provider to stop',
  });
  setCurrentDetails('The customer cancels the task. Making sure that the provider renders nothing.');
  return withdrawJob(taskId).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return MESSAGES.silent;
  });
}

/** Does what it can within its time, without an error. */
async function cancelJob(taskId: string, { steps, jobId }: Route): Promise<void> {
  const { cancelJob } = proxyActivities<MediaTaskActivities>({
    ...queueOf(steps),
    startToCloseTimeout: '15 seconds',
    scheduleToCloseTimeout: CANCEL_LIMIT_MS,
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary: 'Cancel the job at the provider',
  });
  await cancelJob(taskId, jobId).catch(() => undefined);
}

/** A provider may finish a job all the same: not all of them can cancel one, and it may have ended at this moment. */
async function awaitLateResult(taskId: string, { steps, jobId }: Route): Promise<void> {
  if (jobId === undefined) return;
  const started = startChild<typeof lateResult>('lateResult', {
    ...outliving(taskId, 'late result'),
    workflowId: lateResultIdOf(taskId),
    args: [{ taskId, jobId, ...queueOf(steps) }],
    staticSummary: 'Wait for the provider after the refund',
  });
  await orRunning(started);
}

async function resolve(taskId: string, ending: Ending, price: string): Promise<Resolution> {
  if (ending.status === 'succeeded') {
    setCurrentDetails(`Charging ${price}.`);
    return settle.executeWithOptions({ summary: `Charge ${price}` }, [taskId, ending.output]);
  }
  const { code, message, cancelledBy } = ending.failure;
  const reason = reasonOf(ending.failure);
  setCurrentDetails(`Refunding ${price}: ${reason}. ${message}`);
  return refund.executeWithOptions({ summary: `Refund ${price}: ${reason}` }, [taskId, code, message, cancelledBy]);
}

async function startDeliveries(taskId: string, ending: Ending, deliveryIds: readonly string[]): Promise<void> {
  const eventType = `task.${ending.status}`;
  for (const deliveryId of deliveryIds) {
    const started = startChild<typeof webhookDelivery>('webhookDelivery', {
      ...outliving(taskId, eventType),
      workflowId: deliveryId,
      taskQueue: TASK_QUEUES.webhooks,
      args: [{ deliveryId }],
      staticSummary: `Deliver ${eventType} to a webhook endpoint`,
    });
    await orRunning(started);
  }
}

/** A child that goes on when the task's workflow has ended. @param kind by which operators find it */
function outliving(taskId: string, kind: string): ChildWorkflowOptions {
  const account = workflowInfo().typedSearchAttributes.get(SEARCH_ATTRIBUTES.account);
  return {
    parentClosePolicy: ParentClosePolicy.ABANDON,
    memo: { task_id: taskId },
    typedSearchAttributes: [
      ...(account === undefined ? [] : [{ key: SEARCH_ATTRIBUTES.account, value: account }]),
      { key: SEARCH_ATTRIBUTES.kind, value: kind },
    ],
  };
}

/** A child that runs already was started before this workflow was reset, or by the relay. */
async function orRunning(started: Promise<unknown>): Promise<void> {
  await started.catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}

const MESSAGES = {
  timedOut: 'Processing did not finish in time. Nothing was charged; send the request again.',
  notStored: 'The result was generated but could not be stored. Nothing was charged; send the request again.',
  failed: 'Processing failed on the service side. Nothing was charged; send the request again.',
  ended: 'The task has ended.',
  rendered: 'The task has been rendered, and will be charged.',
  unstoppable: 'The task is being rendered, and this model cannot be stopped. It will be charged when it succeeds.',
  silent: 'The task is being rendered, and the model did not confirm that it stopped. Try again.',
} as const;

const TIMED_OUT = { code: 'processing_timeout', message: MESSAGES.timedOut } as const;

function queueOf({ taskQueue }: RouteSteps): ProviderQueue {
  return taskQueue === undefined ? {} : { taskQueue };
}

function timeLeftMs(deadlineMs: number): number {
  const leftMs = deadlineMs - Date.now();
  if (leftMs <= 0) throw timedOut();
  return leftMs;
}

/** Temporal ends a wait long after its time if it was unavailable then, so a render may have ended in between. */
function isLate(endedAt: string | null, deadlineMs: number): boolean {
  return endedAt !== null && Date.parse(endedAt) > deadlineMs && Date.now() > deadlineMs;
}

function timedOut(): ApplicationFailure {
  return ApplicationFailure.nonRetryable(TIMED_OUT.message, TIMED_OUT.code);
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
    return { status: 'failed', failure: CANCELLED_BY_OPERATOR, hasJobToCancel: true };
  }
  if (error instanceof CancelledByCustomerError) {
    // An attempt that was given up may have submitted the job since the provider was asked.
    return { status: 'failed', failure: CANCELLED_BY_CUSTOMER, hasJobToCancel: true };
  }
  const verdict = verdictOf(error);
  if (verdict) return { status: 'failed', failure: verdict, hasJobToCancel: mayStillRender(error, verdict) };
  if (ranOutOfTime(error)) return { status: 'failed', failure: TIMED_OUT, hasJobToCancel: true };
  return { status: 'failed', failure: { code: 'processing_failed', message: MESSAGES.failed }, hasJobToCancel: true };
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

function isStoreUnavailable(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === STORE_UNAVAILABLE
  );
}

function isCancelledByCustomer(ending: Ending): boolean {
  return ending.status === 'failed' && ending.failure === CANCELLED_BY_CUSTOMER;
}

function outcomeOf(ending: Ending): string {
  return ending.status === 'succeeded' ? 'succeeded' : reasonOf(ending.failure);
}
