/** A whole Genway for one drill, in a folder of its own: what can be killed in processes, the simulator in this one. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from '../../bin/stack/child-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { startPostgres } from '../../bin/stack/postgres.ts';
import { findTemporalServer, startTemporalServer } from '../../bin/stack/temporal-server.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { childEnvironment, loadStackConfig } from '../../config.ts';
import { createSimulator } from '../../providers/simulator/simulator.ts';
import { type Killable, type Member, startMember } from './member.ts';
import { startTcpProxy } from './tcp-proxy.ts';

export interface DrillStack {
  /** Of every api process. */
  readonly apiUrls: readonly string[];
  /** Of every process that answers text requests, by its name. */
  readonly textUrls: ReadonlyMap<string, string>;
  readonly simulatorUrl: string;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly adminToken: string;
  /** Of the local store. */
  readonly storeFolder: string;
  readonly members: readonly Member[];
  stop(): Promise<void>;
}

export interface StackSettings {
  /** The folder for state and logs. */
  readonly home: string;
  /** How many api, text and worker processes there are. */
  readonly copies: number;
  readonly taskDeadlineMs: number;
  /** File with the bundled workflows; made anew when absent. */
  readonly workflowBundle?: string;
  readonly report: (line: string) => void;
}

/** The processes of Genway, and the variable with the port on which each says whether it does its work. */
const NODE_ROLES = {
  api: 'GENWAY_API_PORT',
  text: 'GENWAY_TEXT_PORT',
  worker: 'GENWAY_WORKER_PORT',
} as const;

type NodeRole = keyof typeof NODE_ROLES;

const ROOT = join(import.meta.dirname, '../..');
const TSX = import.meta.resolve('tsx');
const STOP_GRACE_MS = 20_000;
const READY_TIMEOUT_MS = 90_000;
/** What the simulator expects where nothing else is configured. */
const SIMULATOR_KEY = 'simulator';
/** Many short waits, so that a receiver that comes back hears of everything within seconds. */
const WEBHOOK_WAITS_S = Array.from({ length: 50 }, (_, attempt) => Math.min(attempt, 5));

/** @throws Error that says what did not start */
export async function startDrillStack(settings: StackSettings): Promise<DrillStack> {
  const { home, copies, report } = settings;
  const members: Member[] = [];
  const simulator = createSimulator({ apiKey: SIMULATOR_KEY, callbackSecret: SIMULATOR_KEY });
  const stop = async (): Promise<void> => {
    // Those who take work in stop before those who keep it.
    for (const member of members.toReversed()) {
      await member.stop();
      await Promise.all(Object.values(member.links).map((proxy) => proxy.close()));
    }
    await simulator.close();
  };
  try {
    const simulatorUrl = await simulator.listen(0, '127.0.0.1');
    const bundle = settings.workflowBundle ?? join(home, 'workflow-bundle.js');
    const [databaseUrl, temporalAddress] = await Promise.all([
      joinPostgres(home, members, report),
      joinTemporal(home, members, report),
      settings.workflowBundle ?? runScript('bin/tools/build-workflow-bundle.ts', [bundle], childEnvironment({}), home),
    ]);
    const ports = { api: await findPorts(copies), text: await findPorts(copies), worker: await findPorts(copies) };
    const adminToken = randomBytes(32).toString('hex');
    const storeFolder = join(home, 'files');
    const environment = childEnvironment({
      GENWAY_HOME: home,
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporalAddress,
      GENWAY_SIMULATOR_URL: simulatorUrl,
      GENWAY_SIMULATOR_KEY: SIMULATOR_KEY,
      GENWAY_PUBLIC_URL: urlOf(ports.api[0] ?? 0),
      GENWAY_WORKFLOW_BUNDLE: bundle,
      GENWAY_ADMIN_TOKEN: adminToken,
      GENWAY_KEY_PEPPER: randomBytes(32).toString('hex'),
      GENWAY_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      GENWAY_ALLOW_PRIVATE_ADDRESSES: 'true',
      GENWAY_PROVIDER_CALLBACKS: 'true',
      GENWAY_STORAGE_FOLDER: storeFolder,
      GENWAY_RATE_LIMIT_RPM: '1000000',
      GENWAY_READ_RATE_LIMIT_RPM: '1000000',
      GENWAY_MAX_CONCURRENT_TASKS: '100000',
      GENWAY_TASK_DEADLINE_S: String(settings.taskDeadlineMs / 1000),
      GENWAY_PROVIDER_PATIENCE_S: '10',
      GENWAY_WEBHOOK_SCHEDULE_S: WEBHOOK_WAITS_S.join(','),
      GENWAY_LOG_LEVEL: 'warn',
      GENWAY_SHUTDOWN_GRACE_S: '10',
    });
    await runScript('bin/migrate.ts', [], environment, home);
    for (const role of ['worker', 'text', 'api'] as const) {
      const starts = ports[role].map((port, index) =>
        joinNode(role, `${role}-${index + 1}`, port, { environment, databaseUrl, temporalAddress, home, report }),
      );
      members.push(...(await Promise.all(starts)));
    }
    return {
      apiUrls: ports.api.map(urlOf),
      textUrls: new Map(
        (['text', 'api'] as const).flatMap((role) =>
          ports[role].map((port, index) => [`${role}-${index + 1}`, urlOf(port)] as const),
        ),
      ),
      simulatorUrl,
      databaseUrl,
      temporalAddress,
      adminToken,
      storeFolder,
      members,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function joinPostgres(home: string, members: Member[], report: (line: string) => void): Promise<string> {
  const port = await findFreePort();
  const password = randomBytes(16).toString('hex');
  let url = '';
  // Only what outlives a crash of the machine is left out: what was committed outlives the kill of a process without it.
  const settings = { fsync: 'off', max_connections: '300' };
  const start = async (): Promise<Killable> => {
    const server = await startPostgres({ dataDir: join(home, 'postgres'), port, password, settings });
    url = server.url;
    return server;
  };
  members.push(await startMember({ role: 'postgres', name: 'postgres', start, report }));
  return url;
}

async function joinTemporal(home: string, members: Member[], report: (line: string) => void): Promise<string> {
  const binary = await findTemporalServer({ cacheFolder: loadStackConfig().cacheFolder, report });
  const port = await findFreePort();
  const start = (): Promise<Killable> =>
    startTemporalServer({
      binary,
      port,
      databaseFile: join(home, 'temporal.db'),
      logFile: join(home, 'temporal.log'),
    });
  members.push(await startMember({ role: 'temporal', name: 'temporal', start, report }));
  return `127.0.0.1:${port}`;
}

interface NodeSettings extends Pick<StackSettings, 'home' | 'report'> {
  readonly environment: NodeJS.ProcessEnv;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
}

/** Its connections lead over proxies of its own, through which they can be disturbed. */

async function joinNode(
  role: NodeRole,
  name: string,
  port: number,
  { environment, databaseUrl, temporalAddress, home, report }: NodeSettings,
): Promise<Member> {
  const postgres = await startTcpProxy(databaseUrl);
  // Text needs no workflows.
  const temporal = role === 'text' ? undefined : await startTcpProxy(temporalAddress);
  const links = { postgres, ...(temporal && { temporal }) };
  const start = async (): Promise<Killable> => {
    const child = await startNode(`bin/${role}.ts`, [], {
      env: {
        ...environment,
        DATABASE_URL: postgres.urlOf(databaseUrl),
        ...(temporal && { TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` }),
        [NODE_ROLES[role]]: String(port),
      },
      logFile: join(home, `${name}.log`),
    });
    let ended = false;
    void child.exited.then(() => (ended = true));
    await waitUntil(() => fetch(`${urlOf(port)}/healthz`), {
      timeoutMs: READY_TIMEOUT_MS,
      pauseMs: 100,
      abandoned: () => (ended ? new Error(`${name} ended while it started`) : undefined),
    }).catch(async (error: unknown) => {
      await child.kill();
      throw error;
    });
    return { ...child, stop: () => child.stop(STOP_GRACE_MS) };
  };
  return startMember({ role, name, links, start, report });
}

async function runScript(file: string, args: readonly string[], env: NodeJS.ProcessEnv, home: string): Promise<void> {
  const child = await startNode(file, args, { env, logFile: join(home, 'scripts.log') });
  if ((await child.exited) !== 0) throw new Error(`${file} failed; see ${join(home, 'scripts.log')}`);
}

async function startNode(
  file: string,
  args: readonly string[],
  { env, logFile }: { env: NodeJS.ProcessEnv; logFile: string },
): Promise<RunningProcess> {
  return startProcess({
    command: process.execPath,
    args: ['--import', TSX, join(ROOT, file), ...args],
    env,
    output: logFile,
  });
}

async function findPorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, () => findFreePort()));
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
