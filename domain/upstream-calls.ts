/** Sums of upstream calls: their number, the failures of the upstream, and a histogram of durations. */

/** The upper bounds of the histogram's classes of duration, in milliseconds. One more class has the longer calls. */
export const DURATION_BOUNDS_MS = [
  5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000, 120_000, 300_000,
] as const;

export interface CallSum {
  readonly requests: number;
  readonly failures: number;
  /** The number of calls in each class of duration. */
  readonly durations: readonly number[];
}

/** A sum to which calls are added in place. */
export interface RunningCallSum extends CallSum {
  requests: number;
  failures: number;
  readonly durations: number[];
}

export function newCallSum(): RunningCallSum {
  return { requests: 0, failures: 0, durations: DURATION_BOUNDS_MS.map(() => 0).concat(0) };
}

export const NO_CALLS: CallSum = newCallSum();

export function countCall(sum: RunningCallSum, durationMs: number, isFailure: boolean): void {
  const place = DURATION_BOUNDS_MS.findIndex((bound) => durationMs <= bound);
  const classAt = place === -1 ? DURATION_BOUNDS_MS.length : place;
  sum.requests += 1;
  if (isFailure) sum.failures += 1;
  sum.durations[classAt] = (sum.durations[classAt] ?? 0) + 1;
}

export function addCalls(one: CallSum, other: CallSum): RunningCallSum {
  return {
    requests: one.requests + other.requests,
    failures: one.failures + other.failures,
    durations: one.durations.map((count, index) => count + (other.durations[index] ?? 0)),
  };
}

/**
 * Returns the duration that a share of the calls did not exceed, in milliseconds, interpolated within its class; null
 * without calls.
 *
 * @param share from 0 to 1, such as 0.95
 */
export function durationAtMs({ durations }: CallSum, share: number): number | null {
  const total = durations.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let before = 0;
  for (const [index, count] of durations.entries()) {
    if (count > 0 && before + count >= share * total) {
      const from = DURATION_BOUNDS_MS[index - 1] ?? 0;
      const to = DURATION_BOUNDS_MS[index] ?? from;
      return Math.round(from + ((share * total - before) / count) * (to - from));
    }
    before += count;
  }
  return null;
}

/** Fewer calls are too few to measure a share of failures. */
export const MIN_CALLS = 5;

/** The calls by which an upstream is judged. */
export interface JudgedCalls extends Pick<CallSum, 'requests' | 'failures'> {
  readonly minutes: 5 | 60;
}

/**
 * Returns the calls of the last five minutes, or those of the last hour if five minutes have too few calls: renders are
 * slow, and so are upstreams with little traffic. Null if the hour has too few calls, too.
 */
export function judgedCalls<Sum extends Pick<CallSum, 'requests' | 'failures'>>(
  lastFiveMinutes: Sum,
  lastHour: Sum,
): JudgedCalls | null {
  const periods = [
    { minutes: 5, sum: lastFiveMinutes },
    { minutes: 60, sum: lastHour },
  ] as const;
  const judged = periods.find(({ sum }) => sum.requests >= MIN_CALLS);
  return judged ? { minutes: judged.minutes, requests: judged.sum.requests, failures: judged.sum.failures } : null;
}
