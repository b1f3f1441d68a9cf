/** The shared parts of a test run: PostgreSQL, Temporal, built programs and workflows, in a temporary folder. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, statfs } from 'node:fs/promises';
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

/** Makes programs in Go (Temporal, the compiler, the linter) collect their garbage a quarter as often. */
export const GO_SETTINGS = { GOGC: '400' };

/** Files in memory, where a copy of the template takes a twentieth of the processor time. */
const MEMORY_FOLDER = '/dev/shm';
/** Far more than the databases of a run need. */
const MIN_MEMORY_BYTES = 4 * 2 ** 30;

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
  const folders: string[] = [];
  let folder: Promise<string> | undefined;
  let database: Promise<Service> | undefined;
  let temporal: Promise<Service> | undefined;
  let bundle: Promise<string> | undefined;
  let programs: Promise<string> | undefined;
  const makeFolder = async (parent: string): Promise<string> => {
    const made = await mkdtemp(join(parent, 'genway-test-'));
    folders.push(made);
    return made;
  };
  const removeFolders = (): void => {
    for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', removeFolders);
  const stateFolder = (): Promise<string> => (folder ??= makeFolder(tmpdir()));
  const start = async (name: string, starting: Promise<Service>): Promise<Service> => {
    const service = await starting;
    void service.exited.then((cause) => isStopping || onLoss(`${name} ended unexpectedly (${String(cause)})`));
    return service;
  };
  const startDatabase = async (): Promise<Service> => startTestPostgres(await makeFolder(await databaseParent()));
  const startTemporal = async (): Promise<Service> => startTestTemporal(await stateFolder(), report);
  return {
    database: async () => (await (database ??= start('PostgreSQL', startDatabase()))).address,
    temporal: async () => (await (temporal ??= start('Temporal', startTemporal()))).address,
    workflowBundle: () => (bundle ??= stateFolder().then(async (home) => (await builder()).buildWorkflows(home))),
    programs: () => (programs ??= stateFolder().then(async (home) => (await builder()).buildPrograms(home))),
    stop: async () => {
      isStopping = true;
      for (const started of await Promise.allSettled([database, temporal])) {
        if (started.status === 'fulfilled') await started.value?.stop();
      }
      await Promise.allSettled([bundle, programs]);
      removeFolders();
    },
  };
}

/** Memory, if there is room for the databases of a run. */
async function databaseParent(): Promise<string> {
  const memory = await statfs(MEMORY_FOLDER).catch(() => null);
  return memory !== null && memory.bavail * memory.bsize > MIN_MEMORY_BYTES ? MEMORY_FOLDER : tmpdir();
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
      // Databases are gone before they need it.
      autovacuum: 'off',
      // A copy of the template takes half of the processor time.
      file_copy_method: 'clone',
      // The log is in memory, too.
      max_wal_size: '256MB',
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
  const { childEnvironment, loadStackConfig } = await import('../../config.ts');
  const { findTemporalServer, startTemporalServer } = await import('../../bin/stack/temporal-server.ts');
  const binary = await findTemporalServer({ cacheFolder: loadStackConfig().cacheFolder, report });
  const server = await startTemporalServer({
    binary,
    port: await findFreePort(),
    env: { ...childEnvironment({}), ...GO_SETTINGS },
    logFile: join(folder, 'temporal.log'),
  });
  return { address: server.address, exited: server.exited, stop: () => server.stop() };
}

const builder = () => import('../../lab/stack/build.ts');
