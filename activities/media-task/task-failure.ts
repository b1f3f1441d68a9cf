import { ApplicationFailure } from '@temporalio/common';
import type { TaskErrorCode } from '../../domain/errors.ts';
import { MAY_STILL_RENDER, STORE_AWAY } from '../../domain/step-limits.ts';
import type { Task } from '../../domain/task.ts';
import { messageFor } from '../../providers/media/words.ts';
import type { WatchedStorage } from '../../storage/watched.ts';

/** A verdict on the task: no retry of the step can change it. */
export function taskFailure(code: TaskErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}

/** Nobody takes the job, or what became of it cannot be learnt. */
export function unavailable(): ApplicationFailure {
  return taskFailure('processing_unavailable', messageFor('processing_unavailable'));
}

/** As {@link unavailable}, of an upstream that may have the job all the same: the workflow sees to it that it is cancelled. */
export function unavailableButMayRender(): ApplicationFailure {
  const message = messageFor('processing_unavailable');
  return ApplicationFailure.create({
    message,
    type: 'processing_unavailable',
    nonRetryable: true,
    details: [MAY_STILL_RENDER],
  });
}

/** There was a result, which cannot be had any more. */
export function transferFailed(): ApplicationFailure {
  return taskFailure('result_transfer_failed', messageFor('result_transfer_failed'));
}

/** A task that was refunded is not worked on again, by whomever: its ending stands. */
export function throwIfFailed({ failure }: Task): void {
  if (failure !== null) throw taskFailure(failure.code, failure.message);
}

/** @throws ApplicationFailure of the type {@link STORE_AWAY} while nothing that is rendered could be stored */
export async function throwIfStoreAway(storage: Pick<WatchedStorage, 'isAvailable'>): Promise<void> {
  if (await storage.isAvailable()) return;
  throw ApplicationFailure.nonRetryable(
    'The store is away, so that nothing is rendered that could not be kept.',
    STORE_AWAY,
  );
}
