/** Waits until started processes work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { request } from 'undici';
import { listPollers } from '../../temporal/pollers.ts';
import { waitUntil } from './wait-until.ts';

const TIMEOUT_MS = 60_000;

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
  const connection = await Connection.connect({ address });
  const deadline = performance.now() + TIMEOUT_MS;
  try {
    for (;;) {
      const pollers = await listPollers(connection, { namespace, taskQueue, timeoutMs: TIMEOUT_MS });
      if (pollers.length > 0) return;
      if (performance.now() > deadline)
        throw new Error(`No worker polls the task queue ${taskQueue}; see the log above.`);
      await sleep(200);
    }
  } finally {
    await connection.close();
  }
}
