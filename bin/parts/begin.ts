/** What has to be done before a process serves, however long the database is away. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { OperatorError } from '../../domain/operator-error.ts';

const RETRY_MS = 2_000;

/**
 * Does it, and ends the process where an operator has to put something right.
 *
 * @returns what readiness asks: it fails until all is done
 */
export function begin(log: Logger, work: () => Promise<void>): () => Promise<void> {
  let reason: unknown = new Error('the process has just begun');

  async function untilDone(): Promise<void> {
    for (;;) {
      try {
        await work();
        reason = null;
        return;
      } catch (error) {
        // Nobody waits for this promise, so that the process ends by it.
        if (error instanceof OperatorError) throw error;
        reason = error;
        log.warn({ err: error }, 'the process cannot serve yet');
      }
      await sleep(RETRY_MS, undefined, { ref: false });
    }
  }

  void untilDone();
  return async () => {
    if (reason !== null) throw reason;
  };
}
