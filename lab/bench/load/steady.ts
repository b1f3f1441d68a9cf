import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** As many may be late before answers are read again. */
const MOST_AT_ONCE = 20;

export interface SteadyAnswer<Result> {
  /** When the request was due, by `performance.now()`. */
  readonly dueAtMs: number;
  /** From then to the end of the answer. */
  readonly latencyMs: number;
  readonly result: Result;
}

/**
 * Sends requests at a steady rate, however long the answers take, and measures from when each request was due: a server
 * that stalls cannot hide it by slowing its clients down.
 *
 * @throws the error of the first request that fails
 */
export async function arriveAt<Result>(
  perSecond: number,
  seconds: number,
  ask: () => Promise<Result>,
): Promise<readonly SteadyAnswer<Result>[]> {
  const underWay: Promise<SteadyAnswer<Result>>[] = [];
  const beganAtMs = performance.now();
  const count = perSecond * seconds;
  while (underWay.length < count) {
    const dueAtMs = beganAtMs + (underWay.length * 1000) / perSecond;
    if (dueAtMs > performance.now()) {
      await sleep(1);
      continue;
    }
    const answered = ask().then((result) => ({ dueAtMs, latencyMs: performance.now() - dueAtMs, result }));
    // A failure is reported at the end: before that, nobody waits for the promise.
    answered.catch(() => {});
    underWay.push(answered);
    if (underWay.length % MOST_AT_ONCE === 0) await turn();
  }
  return Promise.all(underWay);
}
