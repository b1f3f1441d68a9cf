/**
 * A whole Genway for one program, with its own folder and ports: what can be killed in processes, the simulator
 * in this one. All that puts a Genway under load starts it here.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';
import { childEnvironment, SIMULATOR_CALLBACK_SECRET, SIMULATOR_KEY } from '../../config.ts';
import { createSimulator, type Simulator } from '../../simulator/simulator.ts';
import { type Servers, startClusterServers, startDevelopmentServers } from './servers.ts';
import type { Killable } from '../../bin/stack/supervise.ts';
import { type Member, startMember } from './member.ts';
import { expectAnswer, NODE_OPTIONS, runNode, startUntil } from '../../bin/stack/node-process.ts';
import type { PostgresPair } from './postgres-pair.ts';
import { startTcpProxy } from './tcp-proxy.ts';

export interface StackOptions {
  /** The folder for state and logs, made by the caller; if absent, one that is removed with the stack. */
  readonly home?: string;
  /** How many processes of each kind there are. PostgreSQL always runs, and Temporal where api or worker processes do. */
  readonly processes: Readonly<Record<NodeRole, number>>;
  /** Configuration of the processes, in addition to raised limits and permitted private addresses. */
  readonly settings?: Settings;
  /** More of it for some processes, by their names, such as `worker-2`. */
  readonly settingsOf?: (name: string) => Settings;
  /** The content of the file of upstreams. Without it the simulator serves every model. */
  readonly upstreams?: (simulator: SimulatorAccess) => object;
  /** Server settings of PostgreSQL. */
  readonly postgres?: Readonly<Record<string, string>>;
  /** Whether Temporal finds its state again when it was killed; it is faster in memory. */
  readonly isTemporalKept?: boolean;
  /** Whether PostgreSQL and Temporal run as in production, in several processes each. */
  readonly isCluster?: boolean;
  /** Whether connections of the processes lead over TCP proxies: the links of its members. */
  readonly isDisturbable?: boolean;
  /** If absent, the workflows are bundled and the sources are run. */
  readonly built?: Built;
  /** Gets a line when something ends unexpectedly, or takes long. */
  readonly report?: (line: string) => void;
}

/** Programs that were built before, which saves each process a second of loading. */
export interface Built {
  /** The folder with the programs. */
  readonly programs: string;
  /** The file with the bundled workflows. */
  readonly workflowBundle: string;
}

export interface Stack {
  /** Where PostgreSQL and Temporal keep their state. */
  readonly home: string;
  /** The addresses of all api processes. */
  readonly apiUrls: readonly string[];
  /** The addresses of all processes that answer text requests, by name. */
  readonly textUrls: ReadonlyMap<string, string>;
  readonly simulatorUrl: string;
  /** The simulated sessions of the upstream. */
  readonly realtimeUpstream: Simulator['realtime'];
  /** The address of PostgreSQL without a proxy. */
  readonly databaseUrl: string;
  /** `host:port` without a proxy; empty where nothing needs Temporal. */
  readonly temporalAddress: string;
  /** Empty without a UI: only a cluster has one. */
  readonly temporalUiUrl: string;
  readonly adminToken: string;
  /** In the order of their start. */
  readonly members: readonly Member[];
  /** Lets the standby of PostgreSQL take over; only in a cluster. */
  readonly failOver: PostgresPair['failOver'] | undefined;
  /**
   * Starts one more process beside those that run.
   *
   * @param newcomer `file` takes the place of `bin/<role>.ts`; from the root of the project
   */
  join(role: NodeRole, newcomer?: { readonly file?: string; readonly settings?: Settings }): Promise<Member>;
  /** Stops one process in order, for good. */
  leave(member: Member): Promise<void>;
  /**
   * Runs a file to its end with the configuration of the processes.
   *
   * @param file from the root of the project
   * @throws Error with the end of what it said, when it fails
   */
  run(file: string, args: readonly string[]): Promise<void>;
  /** Stops everything, and removes the folder unless it is the caller's. */
  stop(): Promise<void>;
}

export interface SimulatorAccess {
  readonly url: string;
  readonly apiKey: string;
  readonly callbackSecret: string;
}

/** Variables of Genway, those that the AWS SDK reads, and the one that makes a process run as in the image. */
export type Settings = Parameters<typeof childEnvironment>[0] & {
  readonly [Name in 'AWS_REGION' | 'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY' | 'NODE_ENV']?: string;
};

/** The processes of Genway, and the variable with the port on which each says whether it does its work. */
const PORT_VARIABLES = {
  api: 'GENWAY_API_PORT',
  text: 'GENWAY_TEXT_PORT',
  worker: 'GENWAY_WORKER_PORT',
} as const;

export type NodeRole = keyof typeof PORT_VARIABLES;

const STOP_GRACE_MS = 20_000;

const WITHOUT_LIMITS: Settings = {
  GENWAY_ALLOW_PRIVATE_ADDRESSES: 'true',
  GENWAY_RATE_LIMIT_RPM: '1000000',
  GENWAY_MAX_CONCURRENT_TASKS: '100000',
  // The simulator never changes its mind.
  GENWAY_PROVIDER_PATIENCE_S: '5',
  // Members get no new requests before they stop.
  GENWAY_DRAIN_S: '0.01',
  GENWAY_SHUTDOWN_GRACE_S: '10',
};

/** The settings with which the processes of Genway start. */
interface StackContext extends Servers {
  readonly options: StackOptions;
  readonly home: string;
  readonly report: (line: string) => void;
  readonly members: Member[];
  readonly simulatorUrl: string;
}

/**
 * Starts a stack. An interrupted program exits, which stops its children, unless it handles the signal itself.
 *
 * @throws Error that says what did not start
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(130));
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'genway-stack-')));
  const members: Member[] = [];
  const simulator = createSimulator({ apiKey: SIMULATOR_KEY, callbackSecret: SIMULATOR_CALLBACK_SECRET });
  const closers = [() => simulator.close()];
  const stop = async (): Promise<void> => {
    await stopAll(members, closers);
    if (options.home === undefined) await rm(home, { recursive: true, force: true });
  };
  try {
    const simulatorUrl = await simulator.listen(0, '127.0.0.1');
    const { report = () => {}, processes, postgres, isTemporalKept = false, isDisturbable = false } = options;
    const startServers = options.isCluster === true ? startClusterServers : startDevelopmentServers;
    const needsTemporal = processes.api + processes.worker > 0;
    const servers = await startServers({
      home,
      members,
      closers,
      report,
      postgres,
      isTemporalKept,
      isDisturbable,
      needsTemporal,
    });
    const started = await startProcesses({ ...servers, options, home, report, members, simulatorUrl });
    return { ...started, realtimeUpstream: simulator.realtime, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function stopAll(members: readonly Member[], closers: readonly (() => Promise<void>)[]): Promise<void> {
  // Processes that accept work stop before the services that store it.
  for (const member of members.toReversed()) await stopMember(member);
  for (const close of closers.toReversed()) await close();
}

async function stopMember(member: Member): Promise<void> {
  await member.stop();
  await Promise.all(Object.values(member.links).map((proxy) => proxy.close()));
}

async function startProcesses(context: StackContext): Promise<Omit<Stack, 'stop' | 'realtimeUpstream'>> {
  const { options, home, members, simulatorUrl, databaseUrl, temporalAddress, temporalUiUrl } = context;
  const ports = {
    api: await findPorts(options.processes.api),
    text: await findPorts(options.processes.text),
    worker: await findPorts(options.processes.worker),
  };
  const adminToken = randomBytes(32).toString('hex');
  const settings = childEnvironment({
    GENWAY_HOME: home,
    DATABASE_URL: databaseUrl,
    ...(temporalAddress !== '' && { TEMPORAL_ADDRESS: temporalAddress }),
    ...(temporalUiUrl !== '' && { TEMPORAL_UI_URL: temporalUiUrl }),
    GENWAY_SIMULATOR_URL: simulatorUrl,
    GENWAY_SEARCH: `${simulatorUrl}/search`,
    ...(await writeUpstreams(context)),
    GENWAY_PUBLIC_URL: urlOf(ports.api[0] ?? 0),
    ...(await bundleWorkflows(context)),
    GENWAY_ADMIN_TOKEN: adminToken,
    GENWAY_KEY_PEPPER: randomBytes(32).toString('hex'),
    GENWAY_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    ...WITHOUT_LIMITS,
    ...options.settings,
  });
  const environment = { ...settings, NODE_OPTIONS };
  const run: Stack['run'] = (file, args) =>
    runNode(programOf(file, options), args, {
      env: { ...environment, ...options.settingsOf?.(file) },
      logFile: join(home, 'scripts.log'),
    });
  await run('bin/migrate.ts', []);
  for (const role of ['worker', 'text', 'api'] as const) {
    const starts = ports[role].map((port, index) =>
      startRole(context, environment, { role, name: nameOf(role, index), port }),
    );
    members.push(...(await Promise.all(starts)));
  }
  const started = { ...options.processes };
  const urls = (role: NodeRole) => ports[role].map((port, index) => [nameOf(role, index), urlOf(port)] as const);
  return {
    home,
    apiUrls: ports.api.map(urlOf),
    textUrls: new Map([...urls('text'), ...urls('api')]),
    simulatorUrl,
    databaseUrl,
    temporalAddress,
    temporalUiUrl,
    adminToken,
    members,
    failOver: context.pair?.failOver,
    run,
    join: async (role, { file, settings } = {}) => {
      const port = await findFreePort();
      started[role] += 1;
      const name = nameOf(role, started[role] - 1);
      const member = await startRole(context, { ...environment, ...settings }, { role, name, port, file });
      members.push(member);
      return member;
    },
    leave: async (member) => {
      await stopMember(member);
      members.splice(members.indexOf(member), 1);
    },
  };
}

/** Returns the command that runs a source file, which is named from the root of the project. */
function programOf(source: string, { built }: StackOptions): string {
  return built ? join(built.programs, source.replace(/\.ts$/, '.js')) : source;
}

async function writeUpstreams({ options, home, simulatorUrl }: StackContext): Promise<Settings> {
  if (!options.upstreams) return {};
  const file = join(home, 'upstreams.yaml');
  const access = { url: simulatorUrl, apiKey: SIMULATOR_KEY, callbackSecret: SIMULATOR_CALLBACK_SECRET };
  await writeFile(file, JSON.stringify(options.upstreams(access)));
  return { GENWAY_PROVIDERS: file };
}

/** Spares each worker the bundling. */
async function bundleWorkflows({ options, home }: StackContext): Promise<Settings> {
  if (options.processes.worker === 0) return {};
  if (options.built) return { GENWAY_WORKFLOW_BUNDLE: options.built.workflowBundle };
  const file = join(home, 'workflow-bundle.js');
  const logFile = join(home, 'scripts.log');
  await runNode('bin/tools/build-workflow-bundle.ts', [file], { env: childEnvironment({}), logFile });
  return { GENWAY_WORKFLOW_BUNDLE: file };
}

interface NewProcess {
  readonly role: NodeRole;
  readonly name: string;
  readonly port: number;
  readonly file?: string | undefined;
}

async function startRole(
  { options, home, report, databaseUrl, temporalAddress }: StackContext,
  environment: NodeJS.ProcessEnv,
  { role, name, port, file = programOf(`bin/${role}.ts`, options) }: NewProcess,
): Promise<Member> {
  const postgres = options.isDisturbable === true ? await startTcpProxy(databaseUrl) : undefined;
  // Text needs no workflows.
  const temporal = postgres && role !== 'text' ? await startTcpProxy(temporalAddress) : undefined;
  const env = {
    ...environment,
    ...options.settingsOf?.(name),
    ...(postgres && { DATABASE_URL: postgres.urlOf(databaseUrl) }),
    ...(temporal && { TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` }),
    [PORT_VARIABLES[role]]: String(port),
  };
  const url = urlOf(port);
  const start = async (preload: readonly string[]): Promise<Killable> => {
    const logFile = join(home, `${name}.log`);
    const child = await startUntil(() => expectAnswer(`${url}/healthz`), file, [], { env, logFile, preload });
    return { ...child, stop: () => child.stop(STOP_GRACE_MS) };
  };
  return startMember({
    role,
    name,
    links: { ...(postgres && { postgres }), ...(temporal && { temporal }) },
    url,
    start,
    report,
  });
}

async function findPorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, () => findFreePort()));
}

function nameOf(role: NodeRole, index: number): string {
  return `${role}-${index + 1}`;
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
