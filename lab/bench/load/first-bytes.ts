import { once } from 'node:events';
import type { Dispatcher } from 'undici';

/** @returns the milliseconds to the first byte of some streams, one after the other; none if one is refused */
export async function firstBytesMs(ask: () => Promise<Dispatcher.ResponseData>, count: number): Promise<number[]> {
  const durations: number[] = [];
  while (durations.length < count) {
    const startedAt = performance.now();
    const { statusCode, body } = await ask();
    if (statusCode !== 200) {
      await body.dump();
      return [];
    }
    body.once('data', () => durations.push(performance.now() - startedAt));
    await once(body, 'end');
  }
  return durations;
}
