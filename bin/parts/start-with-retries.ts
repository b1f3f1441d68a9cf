/** Retries the work that must be done before a process serves, however long the database is unavailable. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { OperatorError } from '../../domain/operator-error.ts';

const RETRY_MS = 2_000;

/**
 * Retries the work until it is done. Ends the process if an operator has to correct something.
 *
 * @returns the readiness check, which fails until the work is done
 */
export function startWithRetries(log: Logger, work: () => Promise<void>): () => Promise<void> {
  let reason: unknown = new Error('the process is still starting');

  async function untilDone(): Promise<void> {
    for (;;) {
      try {
        await work();
        reason = null;
        return;
      } catch (error) {
        // The promise is not awaited, so its rejection ends the process.
        if (error instanceof OperatorError) throw error;
        reason = error;
        log.warn({ err: error }, 'the process is not ready yet');
      }
      await sleep(RETRY_MS, undefined, { ref: false });
    }
  }

  void untilDone();
  return async () => {
    if (reason !== null) throw reason;
  };
}
