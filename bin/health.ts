/**
 * Checks that the process in the same container is working; exits with 0 if so.
 *
 * Usage: node bin/health.ts api|text|simulator|worker
 */
import { hostname } from 'node:os';
import { Connection } from '@temporalio/client';
import { loadConfig, loadStackConfig } from '../config.ts';
import { TASK_QUEUES } from '../domain/task-queues.ts';
import { connectionOptions } from '../services/tasks/temporal-connection.ts';
import { listPollers } from '../services/operations/pollers.ts';

const TIMEOUT_MS = 5_000;

const checks: Readonly<Record<string, () => Promise<boolean>>> = {
  api: () => answers(loadStackConfig().ports.api),
  text: () => answers(loadStackConfig().ports.text),
  simulator: () => answers(loadStackConfig().ports.simulator),
  worker: isPolling,
};

const check = checks[process.argv[2] ?? ''];
if (!check) {
  console.error(`usage: node bin/health.ts ${Object.keys(checks).join('|')}`);
  process.exit(2);
}
const healthy = await check().catch((error: unknown) => {
  console.error(error);
  return false;
});
process.exit(healthy ? 0 : 1);

/** Whether the server is healthy: any answer except a server error shows that. */
async function answers(port: number): Promise<boolean> {
  const { status } = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return status < 500;
}

/** Whether a process of this host has polled Temporal in the last few minutes. Identities end in the host name. */
async function isPolling(): Promise<boolean> {
  const { temporal } = loadConfig();
  const connection = await Connection.connect({ ...connectionOptions(temporal), connectTimeout: TIMEOUT_MS });
  const pollers = await listPollers(connection, {
    namespace: temporal.namespace,
    taskQueue: TASK_QUEUES.media,
    timeoutMs: TIMEOUT_MS,
  });
  return pollers.some((identity) => identity.endsWith(`@${hostname()}`));
}
