/** When a failed delivery is retried: contract 6. Pure: randomness and time are arguments. */

/** The most that is added to a delay, so that deliveries that failed together are not retried together. */
const MAX_JITTER_RATIO = 0.2;

/**
 * How long to wait before an attempt, after the one before it ended.
 *
 * @param attempt counts from 1
 * @param options `scheduleSeconds`: one delay for each attempt; `random`: at least 0 and below 1; `retryAfterSeconds`:
 *   what the receiver asked for, which can only lengthen the delay
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
 * @param maxSeconds the longest wait that a receiver may ask for; a longer one becomes this
 * @returns whole seconds from now; 0 for a date in the past; undefined when the header is absent or invalid
 */
export function parseRetryAfter(header: string | undefined, nowMs: number, maxSeconds: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((parseHttpDate(text) - nowMs) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), maxSeconds);
}

/** Milliseconds since 1970, or NaN. HTTP dates are in GMT; the oldest format, that of asctime, does not say so. */
function parseHttpDate(text: string): number {
  if (!/^[A-Z][a-z]+,? /.test(text)) return Number.NaN;
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
}
