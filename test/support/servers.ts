/** The shared parts of a test run: PostgreSQL, Temporal, built programs and workflows, in a temporary folder. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';

interface Service {
  readonly address: string;
  /** Resolves when the server has ended for any reason. */
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}

export interface Services {
  /** Connection URL of PostgreSQL. */
  database(): Promise<string>;
  /** host:port of Temporal. */
  temporal(): Promise<string>;
  /** The file with the bundled workflows. */
  workflowBundle(): Promise<string>;
  /** The folder with the built programs, which start in a third of the time of their sources. */
  programs(): Promise<string>;
  stop(): Promise<void>;
}

/** The maximum of processes that run tests side by side. */
export const MAX_TEST_PROCESSES = 6;

/**
 * Services that are each started, or built, on first use.
 *
 * @param onLoss called when a server ended before it was stopped
 */
export function createServices(
  report: (line: string) => void = () => {},
  onLoss: (news: string) => void = () => {},
): Services {
  let isStopping = false;
  let folder: Promise<string> | undefined;
  let database: Promise<Service> | undefined;
  let temporal: Promise<Service> | undefined;
  let bundle: Promise<string> | undefined;
  let programs: Promise<string> | undefined;
  const stateFolder = (): Promise<string> => (folder ??= mkdtemp(join(tmpdir(), 'genway-test-')));
  const start = async (name: string, startIn: (home: string) => Promise<Service>): Promise<Service> => {
    const service = await startIn(await stateFolder());
    void service.exited.then((cause) => isStopping || onLoss(`${name} ended unexpectedly (${String(cause)})`));
    return service;
  };
  return {
    database: async () => (await (database ??= start('PostgreSQL', startTestPostgres))).address,
    temporal: async () => (await (temporal ??= start('Temporal', (home) => startTestTemporal(home, report)))).address,
    workflowBundle: () => (bundle ??= stateFolder().then(async (home) => (await builder()).buildWorkflows(home))),
    programs: () => (programs ??= stateFolder().then(async (home) => (await builder()).buildPrograms(home))),
    stop: async () => {
      isStopping = true;
      for (const started of await Promise.allSettled([database, temporal])) {
        if (started.status === 'fulfilled') await started.value?.stop();
      }
      await Promise.allSettled([bundle, programs]);
      if (folder) await rm(await folder, { recursive: true, force: true });
    },
  };
}

// Each loads its own starter: Temporal's packages take seconds to load, and tests without servers load none.

async function startTestPostgres(folder: string): Promise<Service> {
  const { startPostgres } = await import('../../bin/stack/postgres.ts');
  const server = await startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await findFreePort(),
    password: randomBytes(16).toString('hex'),
    // Nothing here has to survive a crash of the machine.
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      // A copy of the template takes half of the processor time.
      file_copy_method: 'clone',
      max_connections: '500',
      // For connections without limits of their own: a forgotten transaction fails a test, and does not hang others.
      statement_timeout: '120s',
      lock_timeout: '60s',
      idle_in_transaction_session_timeout: '60s',
    },
  });
  return { address: server.url, exited: server.exited, stop: () => server.stop() };
}

async function startTestTemporal(folder: string, report: (line: string) => void): Promise<Service> {
  const { loadStackConfig } = await import('../../config.ts');
  const { findTemporalServer, startTemporalServer } = await import('../../bin/stack/temporal-server.ts');
  const binary = await findTemporalServer({ cacheFolder: loadStackConfig().cacheFolder, report });
  const server = await startTemporalServer({
    binary,
    port: await findFreePort(),
    logFile: join(folder, 'temporal.log'),
  });
  return { address: server.address, exited: server.exited, stop: () => server.stop() };
}

const builder = () => import('../../lab/stack/build.ts');
