/** The api application in this process, over a real socket and a real database; nothing starts workflows. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createApp, createTextApp } from '../../api/app.ts';
import type { AppDependencies, AppSettings } from '../../api/services.ts';
import { listen, type RunningServer } from '../../api/http-server.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { CATALOGUE } from './catalogue.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { createRefusalRecorder } from '../../db/refusal-recorder.ts';
import type { TextUpstreamSettings } from '../../providers/text/settings.ts';
import { startModelControl } from '../../services/operations/model-control.ts';
import { startUpstreamControl } from '../../services/operations/upstream-control.ts';
import { startTcpProxy, type TcpProxy } from '../../lab/stack/tcp-proxy.ts';
import { createLocalStorage } from '../../storage/local.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import { createTestDatabase } from './database.ts';
import { type CallerSettings, createCaller, type TestCaller } from './factories.ts';
import { collectUndescribed } from './openapi.ts';
import { startTextSimulator } from './simulator.ts';
import type { RealtimeService } from '../../services/realtime/realtime-service.ts';
import { useStarted } from './started.ts';
import { ADMIN_TOKEN, KEY_PEPPER, METRICS_TOKEN, testDependencies, testTextService } from './dependencies.ts';
import { startTextParts } from './text-parts.ts';

export interface TestAppOptions {
  readonly settings?: Partial<AppSettings>;
  readonly moderator?: AppDependencies['moderator'];
  readonly providerCallbacks?: AppDependencies['providerCallbacks'];
  readonly startReconciliation?: AppDependencies['startReconciliation'];
  readonly workflows?: AppDependencies['workflows'];
  /** Connects the application to the database through a proxy of the suite. @returns its url */
  readonly routeDatabase?: (url: string) => Promise<string>;
  /** Replaces the application's own storage, which its address serves. */
  readonly storage?: AppDependencies['storage'];
  /** Replaces the application's own client, in suites that receive its requests. */
  readonly guardedClient?: AppDependencies['guardedClient'];
  /** Whether the pages of keys show refused calls. */
  readonly recordsRefusals?: boolean;
  readonly mountPages?: NonNullable<AppDependencies['mountPages']>;
  readonly site?: AppDependencies['site'];
  /** The catalogue of pages and lists; requests of text have that of this repository. */
  readonly catalogue?: AppDependencies['catalogue'];
  /** Without it, no model generates text, unless the simulator does. */
  readonly textUpstreams?: readonly TextUpstreamSettings[];
  /** Whether a simulator generates text. */
  readonly simulatesText?: boolean;
}

export type { ErrorEnvelope as ErrorBody } from '../../domain/error-envelope.ts';

export interface TestApp {
  readonly baseUrl: string;
  readonly adminToken: string;
  readonly metricsToken: string;
  readonly database: Database;
  readonly databaseUrl: string;
  readonly realtime: RealtimeService;
  /** The simulator of text; empty without one. */
  readonly simulatorUrl: string;
  /** Everything that was logged. */
  readonly logged: () => string;
  readonly storage: AppDependencies['storage'];
  /** The names of all stored files, unfinished ones included. */
  readonly storedFiles: () => Promise<string[]>;
  createAccount(settings?: CallerSettings): Promise<TestCaller>;
  /** Another process of the same service: its own address, the same database. */
  startSecond(): Promise<string>;
  /** The endpoints of the text address: its own address, the same database. */
  startText(): Promise<string>;
  stop(): Promise<void>;
}

const ROUTED_CONNECTIONS = 4;

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const testDatabase = await createTestDatabase();
  const {
    settings = {},
    routeDatabase,
    textUpstreams = [],
    simulatesText = false,
    recordsRefusals = false,
    catalogue = () => CATALOGUE,
    ...given
  } = options;
  const simulator = simulatesText ? await startTextSimulator() : null;
  const routed = routeDatabase && createDatabase(await routeDatabase(testDatabase.url), ROUTED_CONNECTIONS);
  const database = routed ?? testDatabase.database;
  const allowPrivateAddresses = options.settings?.allowPrivateAddresses ?? false;
  const guardedClient = createGuardedClient({ allowPrivateAddresses });
  const filesFolder = await mkdtemp(join(tmpdir(), 'genway-files-'));
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const parts = startTextParts({
    database,
    databaseUrl: testDatabase.url,
    catalogue: CATALOGUE,
    settings: simulator ? [simulator.settings] : textUpstreams,
    maxSilenceMs: 60_000,
  });
  const { log, calls, upstreams, billing } = parts;
  const { metrics, found: undescribed } = collectUndescribed(parts.metrics);
  const control = startUpstreamControl({ database, catalogue: () => CATALOGUE, upstreams, calls, log });
  const models = startModelControl({ database, log, pauseMs: 500 });
  const refusals = recordsRefusals ? createRefusalRecorder(database, log) : undefined;
  const dependencies = testDependencies({
    database,
    catalogue: CATALOGUE,
    storage: createLocalStorage({ directory: filesFolder, publicUrl: `${baseUrl}/files` }),
    guardedClient,
    metrics,
    log,
    text: testTextService(database, {
      catalogue: CATALOGUE,
      billing,
      upstreams,
      log,
      assertEnabled: (model) => models.assertEnabled(model),
    }),
    upstreams: control,
    models,
    ...(refusals && { refusals }),
    ...given,
    settings: { publicUrl: baseUrl, allowPrivateAddresses, filesFolder, ...settings },
  });
  const app = createApp({ ...dependencies, catalogue });
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
    database: testDatabase.database,
    databaseUrl: testDatabase.url,
    realtime: dependencies.text.realtime,
    simulatorUrl: simulator?.url ?? '',
    logged: parts.logged,
    storage: dependencies.storage,
    storedFiles: () => filesIn(filesFolder),
    createAccount: (settings) => createCaller(testDatabase.database, KEY_PEPPER, settings),
    startSecond: () => start(createApp(dependencies)),
    startText: () => start(createTextApp(dependencies)),
    stop: async () => {
      await Promise.all([dependencies.text.realtime.stop(0), ...servers.map((server) => server.stop(0))]);
      control.stop();
      models.stop();
      await refusals?.stop();
      await guardedClient.close();
      await parts.stop();
      await simulator?.stop();
      await routed?.destroy();
      await testDatabase.drop();
      await rm(filesFolder, { recursive: true, force: true });
      expect([...undescribed], 'the API description lacks these statuses').to.deep.equal([]);
    },
  };
}

/** The application for the tests of the current suite. @param options a function if they depend on what has started */
export function useTestApp(options: TestAppOptions | (() => TestAppOptions) = {}): TestApp {
  return useStarted(() => startTestApp(typeof options === 'function' ? options() : options));
}

/** {@link useTestApp} behind a proxy, which can cut the app's connections to the database. */
export function useTestAppBehindProxy(): { readonly app: TestApp; readonly proxy: () => TcpProxy } {
  let started: TcpProxy | undefined;
  const proxy = (): TcpProxy => {
    if (!started) throw new Error('the proxy exists only for the tests of its suite');
    return started;
  };
  const app = useTestApp({
    routeDatabase: async (url) => {
      started = await startTcpProxy(url);
      return started.urlOf(url);
    },
  });
  after(() => started?.close());
  return { app, proxy };
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
