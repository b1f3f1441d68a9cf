/** The api application in this process, over a real socket and a real database; nothing starts workflows. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Router } from '@koa/router';
import pino from 'pino';
import { type AppDependencies, type AppSettings, createApp, createTextApp } from '../../api/app.ts';
import { digestApiKey, newApiKey } from '../../api/services/api-key-digest.ts';
import { listen, type RunningServer } from '../../net/http-server.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { insertApiKey, type KeySettings } from '../../db/queries/api-keys.ts';
import { createSealer } from '../../db/sealing.ts';
import type { Database } from '../../db/database.ts';
import { newId } from '../../domain/ids.ts';
import { createLocalStorage } from '../../storage/local.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { NO_TRACING } from '../../telemetry/tracing.ts';
import { createGuardedClient } from '../../net/address-guard.ts';
import { createTestDatabase } from './database.ts';
import { createAccount } from './factories.ts';
import { NO_STARTER } from './starter.ts';

export interface TestAppOptions {
  readonly settings?: Partial<AppSettings>;
  readonly moderator?: AppDependencies['moderator'];
  readonly providerCallbacks?: AppDependencies['providerCallbacks'];
  readonly startReconciliation?: AppDependencies['startReconciliation'];
  readonly workflows?: AppDependencies['workflows'];
  /** Instead of one of its own, which its address serves. */
  readonly storage?: AppDependencies['storage'];
}

/** The common error envelope. */
export interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly request_id: string;
    readonly retry_after_seconds?: number;
  };
}

export interface TestCaller {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

export interface TestApp {
  readonly baseUrl: string;
  readonly adminToken: string;
  readonly metricsToken: string;
  readonly database: Database;
  readonly databaseUrl: string;
  /** Everything that is routed, as `GET /v1/tasks/:task_id`. */
  readonly routes: readonly string[];
  /** Everything that was logged. */
  readonly logged: () => string;
  readonly storage: AppDependencies['storage'];
  /** The names of all stored files, unfinished ones included. */
  readonly storedFiles: () => Promise<string[]>;
  /** An account that was given so much and a key of it; without `fundedUsd` it has never topped up. */
  createAccount(settings?: { fundedUsd?: number; signupUsd?: number; key?: KeySettings }): Promise<TestCaller>;
  /** Another process of the same service: its own address, the same database. */
  startSecond(): Promise<string>;
  /** What the text address serves beside text: its own address, the same database. */
  startText(): Promise<string>;
  stop(): Promise<void>;
}

/** A Temporal that knows nothing yet. */
const NO_WORKFLOWS: AppDependencies['workflows'] = {
  isReachable: async () => true,
  describe: async () => null,
  read: async () => null,
  readEnding: async () => null,
  cancel: async () => false,
};
const AMPLE_QUOTA = { bytes: 2 ** 40, files: 1_000_000 };
const KEY_PEPPER = Buffer.alloc(32, 1);
const METRICS_TOKEN = 'the-token-of-prometheus';
const ADMIN_TOKEN = 'the-token-of-the-operators';

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  const allowPrivateAddresses = options.settings?.allowPrivateAddresses ?? false;
  const guardedClient = createGuardedClient({ allowPrivateAddresses });
  const filesFolder = await mkdtemp(join(tmpdir(), 'genway-files-'));
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  let log = '';
  const dependencies: AppDependencies = {
    database,
    reports: database,
    catalogue: loadCatalogue(),
    sealer: createSealer(Buffer.alloc(32, 2)),
    starter: NO_STARTER,
    workflows: options.workflows ?? NO_WORKFLOWS,
    storage: options.storage ?? createLocalStorage({ directory: filesFolder, publicUrl: `${baseUrl}/files` }),
    moderator: options.moderator ?? null,
    providerCallbacks: options.providerCallbacks ?? { readers: new Map(), announce: async () => {} },
    startReconciliation: options.startReconciliation ?? (async () => {}),
    guardedClient,
    metrics: createMetrics(),
    tracing: NO_TRACING,
    log: pino({ level: 'trace' }, { write: (line) => void (log += line) }),
    settings: {
      adminToken: ADMIN_TOKEN,
      metricsToken: METRICS_TOKEN,
      keyPepper: KEY_PEPPER,
      paymentWebhookSecret: null,
      requestLimits: { requestsPerMinute: 100_000, readsPerMinute: 100_000 },
      tasks: { deadlineMs: 60_000, concurrentTasks: 10 },
      uploads: { neverToppedUp: AMPLE_QUOTA, toppedUp: AMPLE_QUOTA, expiryMs: 60_000 },
      trustedProxies: 0,
      allowPrivateAddresses,
      rejectedUserAgents: [],
      temporal: { uiUrl: 'http://temporal.example', namespace: 'default' },
      filesFolder,
      ...options.settings,
    },
  };
  const app = createApp(dependencies);
  const servers: RunningServer[] = [await listen(app.callback(), '127.0.0.1', port)];
  const start = async (another: typeof app): Promise<string> => {
    const server = await listen(another.callback(), '127.0.0.1', 0);
    servers.push(server);
    return `http://127.0.0.1:${server.port}`;
  };
  return {
    baseUrl,
    adminToken: ADMIN_TOKEN,
    metricsToken: METRICS_TOKEN,
    database,
    databaseUrl: testDatabase.url,
    routes: routesOf(app),
    logged: () => log,
    storage: dependencies.storage,
    storedFiles: () => filesIn(filesFolder),
    createAccount: (settings) => createCaller(database, settings),
    startSecond: () => start(createApp(dependencies)),
    startText: () => start(createTextApp(dependencies)),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop(0)));
      await guardedClient.close();
      await testDatabase.drop();
      await rm(filesFolder, { recursive: true, force: true });
    },
  };
}

function routesOf({ middleware }: ReturnType<typeof createApp>): string[] {
  const routers = middleware.flatMap((layer) =>
    'router' in layer && layer.router instanceof Router ? [layer.router] : [],
  );
  const layers = routers.flatMap(({ stack }) => stack);
  // HEAD comes with every GET.
  return layers.flatMap(({ methods, path }) =>
    methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
  );
}

async function createCaller(
  database: Database,
  { key = {}, ...credit }: { fundedUsd?: number; signupUsd?: number; key?: KeySettings } = {},
): Promise<TestCaller> {
  const { id: accountId } = await createAccount(database, credit);
  const apiKey = newApiKey();
  const digest = digestApiKey(apiKey, KEY_PEPPER);
  const { id: keyId } = await insertApiKey(database, {
    id: newId('apiKey'),
    accountId,
    digest,
    hint: 'sk-…',
    settings: key,
  });
  return { accountId, keyId, apiKey };
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
