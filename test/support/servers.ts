/** PostgreSQL and Temporal for one run of the tests, in a folder that is removed with them. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';
import { startPostgres } from '../../bin/stack/postgres.ts';
import { findTemporalServer, startTemporalServer } from '../../bin/stack/temporal-server.ts';
import { loadStackConfig } from '../../config.ts';

interface Service {
  readonly address: string;
  stop(): Promise<void>;
}

/** The servers of one run. */
export interface Services {
  /** Connection URL of PostgreSQL. */
  database(): Promise<string>;
  /** host:port of Temporal. */
  temporal(): Promise<string>;
  stop(): Promise<void>;
}

/** The namespaces that suites with a worker of their own may claim. */
export const TEST_NAMESPACES = Array.from({ length: 20 }, (_, index) => `test-${index}`);

/** Servers that are each started when first asked for. */
export function createServices(report: (line: string) => void = () => {}): Services {
  let folder: Promise<string> | undefined;
  let database: Promise<Service> | undefined;
  let temporal: Promise<Service> | undefined;
  const stateFolder = (): Promise<string> => (folder ??= mkdtemp(join(tmpdir(), 'genway-test-')));
  return {
    database: async () => (await (database ??= stateFolder().then(startTestPostgres))).address,
    temporal: async () => (await (temporal ??= stateFolder().then((home) => startTestTemporal(home, report)))).address,
    stop: async () => {
      for (const started of await Promise.allSettled([database, temporal])) {
        if (started.status === 'fulfilled') await started.value?.stop();
      }
      if (folder) await rm(await folder, { recursive: true, force: true });
    },
  };
}

async function startTestPostgres(folder: string): Promise<Service> {
  const server = await startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await findFreePort(),
    password: randomBytes(16).toString('hex'),
    // Nothing here has to survive a crash of the machine.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  return { address: server.url, stop: () => server.stop() };
}

async function startTestTemporal(folder: string, report: (line: string) => void): Promise<Service> {
  const binary = await findTemporalServer({ cacheFolder: loadStackConfig().cacheFolder, report });
  const server = await startTemporalServer({
    binary,
    port: await findFreePort(),
    moreNamespaces: TEST_NAMESPACES,
    logFile: join(folder, 'temporal.log'),
  });
  return { address: server.address, stop: () => server.stop() };
}
