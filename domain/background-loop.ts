/** The loops that a process runs in the background, and pauses that a signal ends. */
export interface Repetition {
  /** Prevents new passes. Resolves when the pass in progress has ended. */
  stop(): Promise<void>;
}

/**
 * Runs a pass at once, and again after each pause, even after a failure. The pauses do not keep the process alive.
 *
 * @param pass returns true when more work waits; the next pass then follows without a pause
 * @param onError receives the error of a failed pass
 */
export function repeat(
  pass: () => Promise<unknown>,
  { pauseMs, onError }: { readonly pauseMs: number; readonly onError: (error: unknown) => void },
): Repetition {
  const stopped = new AbortController();

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      const hasMore = await pass().catch(onError);
      if (hasMore !== true) await pause(pauseMs, stopped.signal);
    }
  }

  const running = run();
  return {
    stop: () => {
      stopped.abort();
      return running;
    },
  };
}

/** Waits, but no longer than until the signal is aborted. Does not keep the process alive. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    signal.addEventListener('abort', end);
  });
}
