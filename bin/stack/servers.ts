/** PostgreSQL and Temporal's development server, as `npm start` and the laboratory run both. */
import { join } from 'node:path';
import { findTemporalServer } from './find-temporal-server.ts';
import { type PostgresOptions, startPostgres } from './postgres.ts';
import type { Killable } from './supervise.ts';
import { startTemporalServer, type TemporalServerOptions } from './temporal-server.ts';

/** Starts a server, and starts the server again when it ends unexpectedly. */
export type KeepRunning = (name: 'postgres' | 'temporal', start: () => Promise<Killable>) => Promise<unknown>;

/** Runs PostgreSQL with its data in the state folder. @returns the URL of its database */
export async function runPostgres(
  { home, ...options }: Pick<PostgresOptions, 'port' | 'password' | 'settings'> & { readonly home: string },
  keepRunning: KeepRunning,
): Promise<string> {
  let url = '';
  await keepRunning('postgres', async () => {
    const server = await startPostgres({ ...options, dataDir: join(home, 'postgres') });
    url = server.url;
    return server;
  });
  return url;
}

interface TemporalOptions extends Pick<TemporalServerOptions, 'port' | 'uiPort' | 'namespace'> {
  readonly home: string;
  readonly cacheFolder: string;
  /** Whether the server finds its state again after its end. In memory, it is faster. */
  readonly isStateKept: boolean;
  readonly report: (line: string) => void;
}

/** Runs Temporal's development server. @returns `host:port` */
export async function runTemporal(
  { home, cacheFolder, isStateKept, report, ...options }: TemporalOptions,
  keepRunning: KeepRunning,
): Promise<string> {
  const binary = await findTemporalServer({ cacheFolder, report });
  await keepRunning('temporal', () =>
    startTemporalServer({
      ...options,
      binary,
      ...(isStateKept && { databaseFile: join(home, 'temporal.db') }),
      logFile: join(home, 'temporal.log'),
    }),
  );
  return `127.0.0.1:${options.port}`;
}
