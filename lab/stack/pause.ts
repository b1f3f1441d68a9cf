import { setTimeout as sleep } from 'node:timers/promises';

/** Ends early, without an error, when the signal is aborted. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
