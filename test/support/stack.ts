/**
 * A whole Genway for one suite: its own database and Temporal namespace, and in this process a simulator, the api, text
 * and a worker, unless the suite needs processes that it can kill.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { destination, type Logger } from 'pino';
import { installQuietRuntime } from '../../bin/replay.ts';
import { createLog, type RunningParts } from '../../bin/parts/process.ts';
import { runWorker } from '../../bin/parts/run-worker.ts';
import { serveApi } from '../../bin/parts/serve-api.ts';
import { serveText } from '../../bin/parts/serve-text.ts';
import type { RunningProcess } from '../../bin/stack/child-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { type Config, type Environment, loadConfig, SIMULATOR_CALLBACK_SECRET } from '../../config.ts';
import type { Database } from '../../db/database.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { expectAnswer, startUntil } from '../../bin/stack/node-process.ts';
import type { Built } from '../../lab/stack/stack.ts';
import { useStarted } from './started.ts';
import { createTestDatabase } from './database.ts';
import { type CallerSettings, createCaller, type TestCaller } from './factories.ts';
import { LIGHT_WORKERS, stopPromiseStacks } from './light-workers.ts';
import { createTestNamespace, testPrograms, testTemporalAddress, testWorkflowBundle } from './services.ts';

export interface StackOptions {
  /** Configuration beside the usual, e.g. `GENWAY_TASK_DEADLINE_S`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Configuration of the text process alone. */
  readonly textEnv?: Readonly<Record<string, string>>;
  /** Another Temporal server than the shared one, e.g. one that the suite stops. */
  readonly temporalAddress?: string;
  /** Lets the processes reach the database over something that the suite can break. @returns the url for them */
  readonly routeDatabase?: (url: string) => Promise<string>;
  /** The programs that run as processes of their own, for suites that kill or freeze them, or measure them. */
  readonly processes?: readonly Program[];
  /** The programs and workflows of another version, all of which run as processes of their own. */
  readonly built?: Built;
}

type Program = 'api' | 'text' | 'worker';

/** A process of the stack. Only one of its own can be killed or frozen. */
export interface StackProcess {
  /** @param env beside its usual configuration, from now on until it is started without */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** As an orchestrator would: SIGTERM, and time to finish. */
  stop(): Promise<void>;
  /** As a crash would. */
  kill(): Promise<void>;
  /** SIGSTOP. @returns lets it go on */
  freeze(): () => void;
  /** SIGHUP: it looks at its files now, as every program in its process does. */
  hangUp(): void;
}

export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface TestStack {
  readonly baseUrl: string;
  readonly textBaseUrl: string;
  readonly simulatorUrl: string;
  readonly adminToken: string;
  /** The environment of the processes, for commands that run beside them. */
  readonly environment: Environment;
  readonly database: Database;
  readonly temporal: Client;
  readonly api: StackProcess;
  readonly text: StackProcess;
  readonly worker: StackProcess;
  /** One more worker beside the first, with configuration of its own. */
  moreWorkers(env?: Readonly<Record<string, string>>): StackProcess;
  /**
   * A process of its own, to kill, beside programs that run in the process of the test: stop its program there before.
   * A suite that kills once starts one process this way.
   */
  killable(name: Program): StackProcess;
  /** One more api process beside the first, at an address of its own. */
  moreApis(): Promise<StackProcess & { readonly baseUrl: string }>;
  /** Creates an account with funded credit and a key. No process needs to run. @param settings.pepper by default that of `environment` */
  createAccount(settings?: Pick<CallerSettings, 'fundedUsd' | 'key'> & { pepper?: string }): Promise<TestCaller>;
  stop(): Promise<void>;
}

const STOP_GRACE_MS = 15_000;

export async function startTestStack({
  env = {},
  textEnv = {},
  temporalAddress,
  routeDatabase = async (url) => url,
  processes: ownProcesses = [],
  built,
}: StackOptions = {}): Promise<TestStack> {
  const folder = await mkdtemp(join(tmpdir(), 'genway-stack-'));
  const simulator = createSimulator({ renderMs: 100, callbackSecret: SIMULATOR_CALLBACK_SECRET });
  const [testDatabase, simulatorUrl, apiPort, textPort, address, namespace] = await Promise.all([
    createTestDatabase(),
    simulator.listen(0, '127.0.0.1'),
    findFreePort(),
    findFreePort(),
    temporalAddress ?? testTemporalAddress(),
    temporalAddress === undefined ? createTestNamespace() : 'default',
  ]);
  const adminToken = randomBytes(16).toString('hex');
  const keyPepper = randomBytes(32).toString('hex');
  const baseUrl = `http://127.0.0.1:${apiPort}`;
  const environment = {
    ...process.env,
    DATABASE_URL: await routeDatabase(testDatabase.url),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    GENWAY_HOME: folder,
    GENWAY_API_PORT: String(apiPort),
    GENWAY_TEXT_PORT: String(textPort),
    GENWAY_PUBLIC_URL: baseUrl,
    GENWAY_SIMULATOR_URL: simulatorUrl,
    GENWAY_ADMIN_TOKEN: adminToken,
    GENWAY_KEY_PEPPER: keyPepper,
    GENWAY_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    GENWAY_ALLOW_PRIVATE_ADDRESSES: 'true',
    GENWAY_POLL_MS: '200',
    GENWAY_DRAIN_S: '0.01',
    GENWAY_SHUTDOWN_GRACE_S: '10',
    GENWAY_PROVIDER_PATIENCE_S: '6',
    GENWAY_RATE_LIMIT_RPM: '100000',
    GENWAY_WORKFLOW_BUNDLE: built?.workflowBundle ?? (await testWorkflowBundle()),
    ...env,
  };
  const processes: StackProcess[] = [];
  const launch = (
    name: Program,
    ready: (logFile: string) => Promise<unknown>,
    more: Readonly<Record<string, string>> = {},
    isOwn = built !== undefined || ownProcesses.includes(name),
  ): StackProcess => {
    const logFile = join(folder, `process-${processes.length}.log`);
    const settings = { name, environment: { ...environment, ...more }, logFile };
    const launched = isOwn
      ? createProcess({ ...settings, programs: built?.programs, ready: () => ready(logFile) })
      : createLocalProcess(settings);
    processes.push(launched);
    return launched;
  };
  const textBaseUrl = `http://127.0.0.1:${textPort}`;
  const launchWorker = (more?: Readonly<Record<string, string>>, isOwn?: boolean): StackProcess =>
    launch('worker', (logFile) => expectInLog(logFile, '"polling"'), more, isOwn);
  const launchers = {
    api: (isOwn?: boolean) => launch('api', () => expectAnswer(baseUrl), {}, isOwn),
    text: (isOwn?: boolean) => launch('text', () => expectAnswer(textBaseUrl), textEnv, isOwn),
    worker: (isOwn?: boolean) => launchWorker({}, isOwn),
  };
  const [api, text, worker] = [launchers.api(), launchers.text(), launchers.worker()];
  const connection = await Connection.connect({ address });

  return {
    baseUrl,
    textBaseUrl,
    simulatorUrl,
    adminToken,
    environment,
    database: testDatabase.database,
    temporal: new Client({ connection, namespace }),
    api,
    text,
    worker,
    moreWorkers: (more) => launchWorker(more),
    killable: (name) => launchers[name](true),
    moreApis: async () => {
      const port = await findFreePort();
      const address = `http://127.0.0.1:${port}`;
      return { ...launch('api', () => expectAnswer(address), { GENWAY_API_PORT: String(port) }), baseUrl: address };
    },
    createAccount: ({ fundedUsd = 100, pepper = keyPepper, ...settings } = {}) =>
      createCaller(testDatabase.database, Buffer.from(pepper), { fundedUsd, ...settings }),
    stop: async () => {
      await Promise.all(processes.map((process) => process.stop()));
      await simulator.close();
      await connection.close();
      await testDatabase.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A stack for the tests of the current suite. @param options a function if they depend on what has started */
export function useTestStack(options: StackOptions | (() => StackOptions | Promise<StackOptions>) = {}): TestStack {
  return useStarted(async () => startTestStack(typeof options === 'function' ? await options() : options));
}

/** One HTTP call with a JSON body and answer. */
export async function call<Body = unknown>(
  url: string,
  {
    key,
    body,
    headers = {},
    method = body === undefined ? 'GET' : 'POST',
  }: { key?: string; body?: unknown; headers?: Record<string, string>; method?: string } = {},
): Promise<Answer<Body>> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

interface ProcessSettings {
  readonly name: Program;
  readonly environment: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/** Runs a program in this process. */
function createLocalProcess({ name, environment, logFile }: ProcessSettings): StackProcess {
  let running: RunningParts | undefined;
  const refuse = (): never => {
    throw new Error(`${name} runs in the process of the test: start the stack with { processes: ['${name}'] }`);
  };
  return {
    start: async (env = {}) => {
      const config = loadConfig({ ...environment, ...env });
      running = await RUN[name](config, createLog(name, config, destination({ dest: logFile, sync: true })));
    },
    freeze: refuse,
    hangUp: () => {
      // Without a listener, the signal would end the tests.
      if (running === undefined) throw new Error(`${name} does not run`);
      process.kill(process.pid, 'SIGHUP');
    },
    kill: refuse,
    stop: async () => {
      await running?.stop();
      running = undefined;
    },
  };
}

/** What each program runs. */
const RUN: Readonly<Record<Program, (config: Config, log: Logger) => Promise<RunningParts>>> = {
  api: serveApi,
  text: (config, log) => serveText(config, { log }),
  worker: async (config, log) => {
    installQuietRuntime();
    const running = await runWorker(config, { log, workerOptions: LIGHT_WORKERS });
    stopPromiseStacks();
    return running;
  },
};

function createProcess({
  name,
  environment,
  programs,
  logFile,
  ready,
}: ProcessSettings & {
  readonly programs: string | undefined;
  readonly ready: () => Promise<unknown>;
}): StackProcess {
  let running: RunningProcess | undefined;
  const pidOf = (one: RunningProcess | undefined): number => {
    if (one === undefined) throw new Error(`${name} does not run`);
    return one.pid;
  };
  return {
    start: async (env = {}) => {
      // Each start waits for its own words, not for those of the process before it.
      await writeFile(logFile, '', { flag: 'w' });
      const file = join(programs ?? (await testPrograms()), 'bin', `${name}.js`);
      running = await startUntil(ready, file, [], { env: { ...environment, ...env }, logFile });
    },
    freeze: () => {
      const pid = pidOf(running);
      process.kill(pid, 'SIGSTOP');
      return () => void process.kill(pid, 'SIGCONT');
    },
    hangUp: () => void process.kill(pidOf(running), 'SIGHUP'),
    kill: async () => {
      await running?.kill();
      running = undefined;
    },
    stop: async () => {
      await running?.stop(STOP_GRACE_MS);
      running = undefined;
    },
  };
}

async function expectInLog(logFile: string, words: string): Promise<void> {
  if (!(await readFile(logFile, 'utf8')).includes(words)) throw new Error(`the log does not say ${words} yet`);
}
