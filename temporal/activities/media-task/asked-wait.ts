/** How long a step waits before it calls an upstream that asked for a pause. */
import { PROVIDER_ANSWER_MS } from '../../../domain/step-limits.ts';
import { ProviderUnreachableError } from '../../../providers/media/outcomes.ts';
import { failedAttempt } from './task-failure.ts';

/** The longest wait, even if an upstream asks for more: a job may be complete by then. */
const MAX_WAIT_MS = 5 * 60_000;
/** The time that remains for the last call before the deadline. */
const LAST_CALL_MS = 2 * PROVIDER_ANSWER_MS;

/**
 * The wait that the failed call of an upstream asked for, in milliseconds, and which leaves time for one more call.
 *
 * @param leftMs until a call is of no use, such as the task's deadline
 * @returns 0 if it asked for none
 */
export function askedWaitMs(error: unknown, leftMs: number): number {
  const askedMs = error instanceof ProviderUnreachableError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(Math.min(askedMs, MAX_WAIT_MS, leftMs - LAST_CALL_MS), 0);
}

/**
 * Has the step retried no sooner than the upstream asks for.
 *
 * @param leftMs until a retry is of no use
 * @throws the error, with the time of the next retry if the upstream asked for a wait
 */
export function retryWhenAsked(error: unknown, leftMs: number): never {
  const askedMs = askedWaitMs(error, leftMs);
  if (askedMs === 0 || !(error instanceof Error)) throw error;
  throw failedAttempt(error.message, error.name, askedMs);
}
