/** Computes when a failed delivery is retried: contract 6. Randomness and time are arguments. */

/** The maximum jitter of a delay. Jitter spreads the retries of deliveries that failed together. */
const MAX_JITTER_RATIO = 0.2;

/**
 * Returns the delay of an attempt after the end of the previous attempt.
 *
 * @param attempt counts from 1
 * @param options `scheduleSeconds`: one delay for each attempt; `random`: at least 0 and below 1; `retryAfterSeconds`:
 *   the delay that the receiver requested, which can only lengthen the scheduled delay
 * @returns milliseconds; null when the schedule has no such attempt
 */
export function delayBeforeAttemptMs(
  attempt: number,
  options: {
    readonly scheduleSeconds: readonly number[];
    readonly random: number;
    readonly retryAfterSeconds?: number | undefined;
  },
): number | null {
  const scheduled = options.scheduleSeconds[attempt - 1];
  if (scheduled === undefined) return null;
  const delaySeconds = Math.max(scheduled, options.retryAfterSeconds ?? 0);
  return Math.round(delaySeconds * 1000 * (1 + MAX_JITTER_RATIO * options.random));
}

/**
 * Reads a `Retry-After` header (RFC 9110, section 10.2.3): whole seconds, or a date in any of the three HTTP formats.
 *
 * @param nowMs the current time, in milliseconds since 1970
 * @param maxSeconds the longest wait that a receiver may request; a longer one is shortened to it
 * @returns whole seconds from now; 0 for a date in the past; undefined when the header is absent or invalid
 */
export function parseRetryAfter(header: string | undefined, nowMs: number, maxSeconds: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((parseHttpDate(text) - nowMs) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), maxSeconds);
}

/** Returns milliseconds since 1970, or NaN. HTTP dates are in GMT; the asctime format omits the time zone. */
function parseHttpDate(text: string): number {
  if (!/^[A-Z][a-z]+,? /.test(text)) return Number.NaN;
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
}
