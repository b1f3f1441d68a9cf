import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Repeats `attempt` until it succeeds.
 *
 * @param attempt repeated after `pauseMs` if it rejects
 * @throws the last rejection once `timeoutMs` have passed, or the error that `abandoned` returns
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
  /** Receives each failure; returns an error to stop waiting. */
  readonly abandoned?: (failure: Error) => Error | undefined;
}
