import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Sends requests at a steady rate, however long the answers take, and measures from when each request was due: a server
 * that stalls cannot hide it by slowing its clients down.
 *
 * @returns how many milliseconds each answer took
 * @throws the error of the first request that fails
 */
export async function latenciesAt(perSecond: number, seconds: number, ask: () => Promise<void>): Promise<number[]> {
  const latenciesMs: number[] = [];
  const underWay: Promise<void>[] = [];
  const beganAtMs = performance.now();
  const count = perSecond * seconds;
  while (underWay.length < count) {
    const dueAtMs = beganAtMs + (underWay.length * 1000) / perSecond;
    if (dueAtMs > performance.now()) {
      await sleep(1);
      continue;
    }
    const answered = ask().then(() => void latenciesMs.push(performance.now() - dueAtMs));
    // A failure is reported at the end: before that, nobody waits for the promise.
    answered.catch(() => {});
    underWay.push(answered);
  }
  await Promise.all(underWay);
  return latenciesMs;
}
