/** A Temporal development server, for development and tests. */
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { SEARCH_ATTRIBUTE_NAMES } from '../../domain/search-attributes.ts';
import { startProcess } from './child-process.ts';
import { waitUntilReady } from './readiness.ts';
import { waitUntil } from './wait-until.ts';
import { withTemporal } from './with-temporal.ts';

export { findTemporalServer } from './find-temporal-server.ts';

const STOP_GRACE_MS = 10_000;
const RETENTION = '3 days';
/** A new namespace reaches the caches of a cluster within seconds. */
const NAMESPACE_TIMEOUT_MS = 120_000;
/** `INDEXED_VALUE_TYPE_KEYWORD` in temporal/api/enums/v1/common.proto. */
const KEYWORD = 2;

/** Settings of the dynamic configuration with which Genway is developed. */
export const DYNAMIC_CONFIG: Readonly<Record<string, string | boolean>> = {
  // Timers fire at most a millisecond late, instead of a second.
  'history.timerProcessorMaxTimeShift': '1ms',
  // Task queues with a backlog serve accounts fairly.
  'matching.enableFairness': true,
};

export interface TemporalServerOptions {
  /** The Temporal CLI; see `findTemporalServer`. */
  readonly binary: string;
  readonly port: number;
  /** The port of the web UI; by default, there is no UI. */
  readonly uiPort?: number;
  /** The file that keeps the state between runs; by default, the state is in memory. */
  readonly databaseFile?: string;
  readonly namespace?: string;
  /** The complete environment; by default, the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** The server appends its log to this file. */
  readonly logFile: string;
}

export interface TemporalServer {
  /** host:port of the frontend. */
  readonly address: string;
  readonly uiUrl: string | undefined;
  readonly pid: number;
  /** Resolves when the server has ended for any reason. */
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
  /** Ends the server like a crash. */
  kill(): Promise<void>;
}

/**
 * Starts the server on 127.0.0.1 with Genway's search attributes, and waits until its namespace answers.
 *
 * @throws Error with the end of the log if the server does not start
 */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  const { binary, port, uiPort, databaseFile, namespace = 'default', env, logFile } = options;
  const address = `127.0.0.1:${port}`;
  const flags: Readonly<Record<string, string | number>> = {
    ip: '127.0.0.1',
    port,
    namespace,
    ...(uiPort && { 'ui-port': uiPort }),
    ...(databaseFile && { 'db-filename': databaseFile }),
    'log-format': 'json',
    'log-level': 'warn',
  };
  const server = await startProcess({
    command: binary,
    args: [
      'server',
      'start-dev',
      ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      ...Object.entries(DYNAMIC_CONFIG).map(
        ([name, value]) => `--dynamic-config-value=${name}=${JSON.stringify(value)}`,
      ),
      ...SEARCH_ATTRIBUTE_NAMES.map((name) => `--search-attribute=${name}=Keyword`),
      ...(uiPort ? [] : ['--headless']),
    ],
    ...(env && { env }),
    output: logFile,
    stopSignal: 'SIGINT',
  });
  await waitUntilReady(server, { ready: () => checkNamespace(address, namespace), name: 'Temporal', logFile });
  return {
    address,
    uiUrl: uiPort ? `http://127.0.0.1:${uiPort}` : undefined,
    pid: server.pid,
    exited: server.exited,
    stop: () => server.stop(STOP_GRACE_MS),
    kill: () => server.kill(),
  };
}

/** Rejects unless the namespace answers and knows the search attributes. */
async function checkNamespace(address: string, namespace: string): Promise<void> {
  const find = (connection: Connection) =>
    connection.withDeadline(Date.now() + 2_000, () => missingAttributes(connection, namespace));
  const missing = await withTemporal(address, find, { connectTimeout: '1s' });
  if (missing.length > 0) throw new Error(`the namespace ${namespace} lacks ${missing.join(', ')}`);
}

/** Creates a namespace with Genway's search attributes. */
export async function createNamespace(address: string, namespace: string): Promise<void> {
  await withTemporal(address, ({ workflowService }) =>
    workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs(RETENTION) }),
  );
  await waitUntil(() => addSearchAttributes(address, namespace), { timeoutMs: NAMESPACE_TIMEOUT_MS });
}

/**
 * Adds Genway's search attributes to a namespace of an external server.
 *
 * @throws Error if the server does not answer or refuses
 */
export async function addSearchAttributes(address: string, namespace: string): Promise<void> {
  await withTemporal(address, async (connection) => {
    const missing = await missingAttributes(connection, namespace);
    if (missing.length === 0) return;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
  });
}

async function missingAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return SEARCH_ATTRIBUTE_NAMES.filter((name) => !(name in customAttributes));
}
