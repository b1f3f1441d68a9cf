/** Reads the wait that an upstream asks for. */
import { isObject, listOf, objectOf } from '../../domain/json.ts';
import { parseRetryAfter } from '../../domain/retry-schedule.ts';

/** Longer waits are shortened to this: nothing waits longer for an upstream. */
const MAX_SECONDS = 3_600;
/** For example `34.4s` and `1.5`. */
const SECONDS = /^\d+(\.\d+)?s?$/;

interface AskingAnswer {
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly document: unknown;
}

/**
 * The wait that an answer asks for, in milliseconds, up to an hour: the header `Retry-After` (RFC 9110, section 10.2.3),
 * in seconds or as a date by the upstream's own clock, or Google's `RetryInfo` in `error.details`; the longer of both.
 *
 * @returns undefined if the answer asks for no wait that can be read
 */
export function retryAfterMs({ headers, document }: AskingAnswer): number | undefined {
  const upstreamNowMs = Date.parse(headers['date'] ?? '');
  const nowMs = Number.isNaN(upstreamNowMs) ? Date.now() : upstreamNowMs;
  const details = listOf(objectOf(objectOf(document)['error'])['details']).filter(isObject);
  const waits = [headers['retry-after'], ...details.map(({ retryDelay }) => retryDelay)].flatMap((delay) => {
    const seconds = typeof delay === 'string' ? secondsIn(delay.trim(), nowMs) : undefined;
    return seconds === undefined ? [] : [seconds * 1000];
  });
  return waits.length === 0 ? undefined : Math.max(...waits);
}

function secondsIn(delay: string, nowMs: number): number | undefined {
  if (!SECONDS.test(delay)) return parseRetryAfter(delay, nowMs, MAX_SECONDS);
  return Math.min(Number.parseFloat(delay), MAX_SECONDS);
}
