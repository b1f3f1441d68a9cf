/** How long a step waits before it calls an upstream that requested a pause. */
import { PROVIDER_ANSWER_MS } from '../../domain/step-limits.ts';
import { ProviderUnreachableError } from '../../providers/media/outcomes.ts';
import { failedAttempt } from './task-failure.ts';

/** The longest wait, even if an upstream requests more: a job may be complete by then. */
const MAX_WAIT_MS = 5 * 60_000;
/** The time that remains for the last call before the deadline. */
const LAST_CALL_MS = 2 * PROVIDER_ANSWER_MS;

/**
 * Returns the wait that an upstream requested when a call failed, in milliseconds, which leaves time for one more call.
 *
 * @param leftMs until a call is of no use, such as the task's deadline
 * @returns 0 if the upstream requested none
 */
export function requestedWaitMs(error: unknown, leftMs: number): number {
  const requestedMs = error instanceof ProviderUnreachableError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(Math.min(requestedMs, MAX_WAIT_MS, leftMs - LAST_CALL_MS), 0);
}

/**
 * Has Temporal retry the step after the wait that the upstream requested.
 *
 * @param leftMs until a retry is of no use
 * @throws the error, with the time of the next retry if the upstream requested a wait
 */
export function retryAfterRequestedWait(error: unknown, leftMs: number): never {
  const requestedMs = requestedWaitMs(error, leftMs);
  if (requestedMs === 0 || !(error instanceof Error)) throw error;
  throw failedAttempt(error.message, error.name, { pauseMs: requestedMs });
}
