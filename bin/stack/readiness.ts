/** Waits until started processes work. */
import { request } from 'undici';
import { listPollers } from '../../services/operations/pollers.ts';
import type { RunningProcess } from './child-process.ts';
import { logTail } from './log-tail.ts';
import { waitUntil } from './wait-until.ts';
import { withTemporal } from './with-temporal.ts';

const TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 20_000;

interface Expected {
  /** Throws while the process does not do its work. */
  readonly ready: () => Promise<unknown>;
  /** For error messages. */
  readonly name: string;
  readonly logFile: string;
  readonly timeoutMs?: number;
}

/**
 * Resolves when a started process does its work.
 *
 * @throws Error with the end of its log if the process does not become ready; the process has then been stopped
 */
export async function waitUntilReady(
  child: RunningProcess,
  { ready, name, logFile, timeoutMs = TIMEOUT_MS }: Expected,
): Promise<void> {
  let hasEnded = false;
  void child.exited.then(() => (hasEnded = true));
  await waitUntil(ready, {
    timeoutMs,
    abandoned: () => (hasEnded ? new Error(`${name} exited immediately`) : undefined),
  }).catch(async (error: unknown) => {
    await child.stop(STOP_GRACE_MS);
    throw new Error(`${name} did not start; its log (${logFile}) ends:\n${await logTail(logFile)}`, { cause: error });
  });
}

/** Resolves when an HTTP server answers at `url` with any status. */
export async function waitForHttp(url: string): Promise<void> {
  await waitUntil(
    async () => {
      const { body } = await request(url, { headersTimeout: 2_000 });
      await body.dump();
    },
    { timeoutMs: TIMEOUT_MS },
  ).catch((error: unknown) => {
    throw new Error(`Nothing answers at ${url}; see the log above.`, { cause: error });
  });
}

/** Resolves when a worker polls the task queue. */
export async function waitForWorker(address: string, namespace: string, taskQueue: string): Promise<void> {
  await withTemporal(address, (connection) =>
    waitUntil(
      async () => {
        const pollers = await listPollers(connection, { namespace, taskQueue, timeoutMs: TIMEOUT_MS });
        if (pollers.length === 0) throw new Error(`No worker polls the task queue ${taskQueue}; see the log above.`);
      },
      { timeoutMs: TIMEOUT_MS, pauseMs: 200 },
    ),
  );
}
