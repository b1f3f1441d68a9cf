import { ApplicationFailure } from '@temporalio/common';
import type { TaskErrorCode } from '../../domain/errors.ts';
import { MAY_STILL_RENDER, STORE_UNAVAILABLE } from '../../domain/step-limits.ts';
import type { Task } from '../../domain/task.ts';
import { messageFor } from '../../providers/media/vendor-message.ts';
import type { WatchedStorage } from '../../storage/watched.ts';

/**
 * A verdict on the task, which retrying the step cannot change.
 *
 * @param detail the cause, for operators: the timeline shows it in parentheses
 */
export function taskFailure(code: TaskErrorCode, message: string, detail?: string | null): ApplicationFailure {
  return ApplicationFailure.create({ message, type: code, nonRetryable: true, ...causedBy(detail) });
}

interface FailedAttempt {
  /** By default, the pause of the step's policy. */
  readonly pauseMs?: number | undefined;
  /** The cause, for operators. */
  readonly detail?: string | null | undefined;
}

/** Fails this attempt of the step, which is retried after the pause. */
export function failedAttempt(
  message: string,
  type: string,
  { pauseMs, detail }: FailedAttempt = {},
): ApplicationFailure {
  return ApplicationFailure.create({
    message,
    type,
    ...(pauseMs !== undefined && { nextRetryDelay: pauseMs }),
    ...causedBy(detail),
  });
}

function causedBy(detail: string | null = null): { readonly cause?: ApplicationFailure } {
  return detail === null ? {} : { cause: ApplicationFailure.create({ message: detail, type: 'upstream' }) };
}

/** No upstream accepts the job, or its outcome cannot be determined. */
export function unavailable(detail?: string): ApplicationFailure {
  return taskFailure('processing_unavailable', messageFor('processing_unavailable'), detail);
}

/** Like {@link unavailable}, but the upstream may have the job: the workflow makes sure that it is cancelled. */
export function unavailableWithPossibleJob(): ApplicationFailure {
  const message = messageFor('processing_unavailable');
  return ApplicationFailure.create({
    message,
    type: 'processing_unavailable',
    nonRetryable: true,
    details: [MAY_STILL_RENDER],
  });
}

/** There was a result, but it is no longer available. */
export function transferFailedError(): ApplicationFailure {
  return taskFailure('result_transfer_failed', messageFor('result_transfer_failed'));
}

/** A refunded task is never worked on again: its ending stands. */
export function throwIfFailed({ failure }: Task): void {
  if (failure !== null) throw taskFailure(failure.code, failure.message);
}

/** @throws ApplicationFailure of type {@link STORE_UNAVAILABLE} while results could not be stored */
export async function throwIfStoreUnavailable(storage: Pick<WatchedStorage, 'isAvailable'>): Promise<void> {
  if (await storage.isAvailable()) return;
  throw ApplicationFailure.nonRetryable(
    'The store is unavailable, so nothing is rendered that could not be stored.',
    STORE_UNAVAILABLE,
  );
}
