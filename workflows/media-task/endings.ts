/** How a media task ends: what a failed step, the deadline or a cancellation means for the task. */
import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  TimeoutFailure,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Resolution } from '../../activities/media-task/media-task.ts';
import { isTaskErrorCode, type TaskErrorCode } from '../../domain/errors.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { MAY_STILL_RENDER, STORE_UNAVAILABLE } from '../../domain/step-limits.ts';
import {
  CANCELLED_BY_CUSTOMER,
  CANCELLED_BY_OPERATOR,
  ENDING_MEMO,
  reasonOf,
  type RecordedEnding,
  type TaskEnding,
  type TaskFailure,
} from '../../domain/task.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import { CancelledByCustomerError } from '../customer-cancellation.ts';

/** The outcome of a task, and whether its provider may still work on a job of a failed one. */
export type Ending =
  | Extract<TaskEnding, { status: 'succeeded' }>
  | (Extract<TaskEnding, { status: 'failed' }> & { readonly hasJobToCancel: boolean });

const TIMED_OUT = { code: 'processing_timeout', message: TASK_MESSAGES.timedOut } as const;

/** The time until the deadline. @throws ApplicationFailure `processing_timeout` if there is none */
export function timeLeftMs(deadlineMs: number): number {
  const leftMs = deadlineMs - Date.now();
  if (leftMs <= 0) throw timedOut();
  return leftMs;
}

/** Temporal ends a wait long after its time if it was unavailable then, so a render may have ended in between. */
export function isLate(endedAt: string | null, deadlineMs: number): boolean {
  return endedAt !== null && Date.parse(endedAt) > deadlineMs && Date.now() > deadlineMs;
}

export function timedOut(): ApplicationFailure {
  return ApplicationFailure.nonRetryable(TIMED_OUT.message, TIMED_OUT.code);
}

/** Gives a step that ran out of attempts or time the matching error code; a verdict of the provider keeps its own. */
export function failAs(code: TaskErrorCode, message: string): (error: unknown) => never {
  return (error) => {
    if (isCancellation(error) || verdictOf(error)) throw error;
    throw ApplicationFailure.nonRetryable(message, code);
  };
}

/** The ending that an error of a step leads to. */
export function toEnding(error: unknown): Ending {
  if (isCancellation(error)) return { status: 'failed', failure: CANCELLED_BY_OPERATOR, hasJobToCancel: true };
  if (error instanceof CancelledByCustomerError) {
    // An attempt that was given up may have submitted the job since the provider was asked.
    return { status: 'failed', failure: CANCELLED_BY_CUSTOMER, hasJobToCancel: true };
  }
  const verdict = verdictOf(error);
  if (verdict) return { status: 'failed', failure: verdict, hasJobToCancel: mayStillRender(error, verdict) };
  if (ranOutOfTime(error)) return { status: 'failed', failure: TIMED_OUT, hasJobToCancel: true };
  return {
    status: 'failed',
    failure: { code: 'processing_failed', message: TASK_MESSAGES.failed },
    hasJobToCancel: true,
  };
}

/** If the provider gave the verdict, or has a result, its job is over; if the task was given up, it may not be. */
function mayStillRender(error: unknown, { code }: TaskFailure): boolean {
  if (!(error instanceof ActivityFailure)) return code !== 'result_transfer_failed';
  return error.cause instanceof ApplicationFailure && error.cause.details?.[0] === MAY_STILL_RENDER;
}

/** Whether the deadline ended the task, whatever the last attempt of a step failed with. */
export function ranOutOfTime(error: unknown): boolean {
  if (!(error instanceof ActivityFailure)) return verdictOf(error)?.code === TIMED_OUT.code;
  return error.retryState === 'TIMEOUT' || error.cause instanceof TimeoutFailure;
}

/** The task error that an activity or this workflow failed with; null if it failed with anything else. */
export function verdictOf(error: unknown): TaskFailure | null {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (!(failure instanceof ApplicationFailure) || !failure.type || !isTaskErrorCode(failure.type)) return null;
  return { code: failure.type, message: failure.message };
}

export function isStoreUnavailable(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === STORE_UNAVAILABLE
  );
}

export function isCancelledByCustomer(ending: Ending): boolean {
  return ending.status === 'failed' && ending.failure === CANCELLED_BY_CUSTOMER;
}

export function hasTimedOut(ending: Ending): boolean {
  return ending.status === 'failed' && ending.failure.code === TIMED_OUT.code;
}

/** Records the ending for operators, and for the recovery of a database that has lost it. */
export function recordEnding(ending: Ending, { taskStatus, transferId, deliveryIds }: Resolution): void {
  const isSuccess = ending.status === 'succeeded';
  const outcome = isSuccess ? 'succeeded' : reasonOf(ending.failure);
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcome }]);
  // A task that had already ended in another way keeps that ending.
  if (taskStatus !== ending.status) return;
  const recorded: RecordedEnding = {
    ending: isSuccess ? ending : { status: 'failed', failure: ending.failure },
    resolutionId: transferId,
    deliveryIds,
  };
  upsertMemo({ [ENDING_MEMO]: recorded });
}
