import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Tries `attempt` again and again until it succeeds.
 *
 * @param attempt is over when it resolves; when it rejects it is tried again after `pauseMs`
 * @throws the last rejection once `timeoutMs` have passed, or what `abandoned` says as soon as it says something
 */
export async function waitUntil<Result>(
  attempt: () => Promise<Result>,
  { timeoutMs, pauseMs = 50, abandoned }: WaitOptions,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const reason = error instanceof Error ? abandoned?.(error) : undefined;
      if (reason) throw reason;
      if (performance.now() > deadline) throw error;
      await sleep(pauseMs);
    }
  }
}

interface WaitOptions {
  readonly timeoutMs: number;
  readonly pauseMs?: number;
  /** Told why the attempt failed; gives an error when there is no sense in waiting any longer. */
  readonly abandoned?: (failure: Error) => Error | undefined;
}
