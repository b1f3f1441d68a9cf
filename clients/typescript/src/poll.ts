/** Waiting for an object of the API to end. */
import { APIConnectionError, APIError } from './errors.ts';
import { pause, type RequestOptions } from './http.ts';

export interface PollOptions<Item> {
  /** Called with the object after each look. */
  readonly onProgress?: (item: Item) => void;
  readonly timeoutMs: number;
  readonly pollMs: (item: Item) => number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the object has ended; may throw. */
  readonly hasEnded: (item: Item) => boolean;
  /** The error after the time limit. */
  readonly timedOut: (item: Item) => Error;
}

const MIN_READ_MS = 1_000;
const MAX_READ_MS = 60_000;

/** Resolves with the object once it has ended. Goes on while the API cannot be reached, because the object does. */
export async function poll<Item>(
  first: Item,
  read: (options: RequestOptions) => Promise<Item>,
  { onProgress, timeoutMs, pollMs, signal, hasEnded, timedOut }: PollOptions<Item>,
): Promise<Item> {
  const untilMs = Date.now() + timeoutMs;
  for (let latest = first; ;) {
    onProgress?.(latest);
    if (hasEnded(latest)) return latest;
    const leftMs = untilMs - Date.now();
    if (leftMs <= 0) throw timedOut(latest);
    await pause(Math.min(pollMs(latest), leftMs), signal);
    // This loop is the retry.
    const reading = {
      timeoutMs: Math.min(Math.max(untilMs - Date.now(), MIN_READ_MS), MAX_READ_MS),
      maxRetries: 0,
      ...(signal && { signal }),
    };
    latest = await read(reading).catch((error: unknown) => {
      signal?.throwIfAborted();
      const isPassing = error instanceof APIConnectionError || (error instanceof APIError && error.isRetryable);
      if (isPassing) return latest;
      throw error;
    });
  }
}
