import type { Logger } from 'pino';

export interface Repetition {
  /** It is done no more, but to its end where it is under way. */
  readonly stop: () => void;
}

/**
 * Does something at once, and again a while after each time, whether or not that worked.
 *
 * @param what completes "cannot …" in the log
 */
export function repeat(
  work: () => Promise<void>,
  { pauseMs, what, log }: { readonly pauseMs: number; readonly what: string; readonly log: Logger },
): Repetition {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function turn(): Promise<void> {
    await work().catch((error: unknown) => log.debug({ err: error }, `cannot ${what}`));
    if (!isStopped) timer = setTimeout(() => void turn(), pauseMs).unref();
  }

  void turn();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
