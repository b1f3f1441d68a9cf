/** Starts and stops, in order, everything that `npm start` runs. */
import { rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { childEnvironment, loadConfig, type Config, type StackConfig } from '../../config.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { ensureDemoAccounts, ensureDemoPeople, type DemoAccounts, type DemoLinks } from './demo-accounts.ts';
import { formatLogLine } from './log-line.ts';
import { startNode } from './node-process.ts';
import { claimHome, type PidFile } from './pid-file.ts';
import { checkPorts } from './ports.ts';
import { writePrivateFile } from './private-file.ts';
import { waitForHttp, waitForWorker } from './readiness.ts';
import { loadSecrets } from './secrets.ts';
import { runPostgres, runTemporal } from './servers.ts';
import { supervise, type Running, type Supervised } from './supervise.ts';
import { addSearchAttributes } from './temporal-server.ts';

/** A running stack, with links for its demo people to the console. */
export interface RunningStack extends StackDescription {
  readonly people: DemoLinks;
}

/** The addresses and credentials of the running stack: the content of `demo.json` in the state folder. */
export interface StackDescription {
  readonly base_url: string;
  readonly text_base_url: string;
  readonly temporal_address: string;
  readonly temporal_ui_url: string;
  readonly database_url: string;
  readonly simulator_url: string;
  readonly admin_token: string;
  readonly accounts: DemoAccounts;
}

export interface LocalStack {
  /** Starts everything; resolves when all processes answer. Call it once. @throws Error that says what to do */
  start(): Promise<RunningStack>;
  /** Stops all started processes, even in the middle of starting. */
  stop(): Promise<void>;
}

/** The order of stopping: first the processes that accept work, last those that store it. */
const STOP_ORDER: readonly (readonly string[])[] = [
  ['api', 'text'],
  ['worker'],
  ['simulator'],
  ['temporal'],
  ['postgres'],
];

const POSTGRES = { max_connections: '200', shared_buffers: '256MB' };

const EXTENSION = extname(import.meta.url);

/** Longer than the processes' own margin, so that an orderly shutdown is never cut short. */
const STOP_MARGIN_MS = 15_000;

/** @param write receives each line of the log */
export function createLocalStack(config: StackConfig, write: (line: string) => void): LocalStack {
  const report = (line: string): void => write(formatLogLine('genway', line));
  const demoFile = join(config.home, 'demo.json');
  const processes = new Map<string, Supervised<Running>>();
  let pidFile: PidFile | undefined;

  const run: Run = async (name, start) => {
    const onStart = async (pid: number): Promise<void> => pidFile?.record(name, pid);
    const supervised = await supervise({ name, start, onStart, report });
    processes.set(name, supervised);
    return supervised.first;
  };

  const start = async (): Promise<RunningStack> => {
    pidFile = await claimHome(config.home, report);
    await rm(demoFile, { force: true });
    await checkPorts(portsToOpen(config));
    const secrets = await loadSecrets(config.home);
    const password = secrets.databasePassword;
    const { databaseUrl, temporal } = await startServers(config, { run, report, password });
    await addSearchAttributes(temporal.address, config.temporalNamespace);

    const environment = childEnvironment({
      GENWAY_HOME: config.home,
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_UI_URL: temporal.uiUrl,
      GENWAY_ADMIN_TOKEN: config.secrets.adminToken ?? secrets.adminToken,
      GENWAY_SELLER: config.seller,
      GENWAY_MODERATION_URL: config.moderationUrl,
      ...(config.searchUrl !== undefined && { GENWAY_SEARCH: config.searchUrl }),
      GENWAY_KEY_PEPPER: config.secrets.keyPepper ?? secrets.keyPepper,
      GENWAY_ENCRYPTION_KEY: config.secrets.encryptionKey ?? secrets.encryptionKey,
      GENWAY_DRAIN_S: '0.01',
      GENWAY_SHUTDOWN_GRACE_S: String(config.shutdownGraceMs / 1000),
      GENWAY_PROVIDER_PATIENCE_S: String(config.providerPatienceMs / 1000),
    });
    const processConfig = loadConfig(environment);
    const startProgram = (name: string) => startOwnProgram(name, { environment, config, write });
    await runMigrations(startProgram);
    for (const name of ['simulator', 'api', 'text', 'worker']) await run(name, () => startProgram(name));

    const [adminToken] = processConfig.secrets.adminTokens;
    const description = { ...describe(processConfig), admin_token: adminToken };
    await waitForHttp(description.simulator_url);
    await waitForHttp(description.base_url);
    await waitForHttp(description.text_base_url);
    await waitForWorker(temporal.address, config.temporalNamespace, TASK_QUEUES.media);
    const administration = { baseUrl: description.base_url, adminToken };
    const accounts = await ensureDemoAccounts(config.home, administration, databaseUrl);
    const people = await ensureDemoPeople(config.home, administration, accounts);
    await writePrivateFile(demoFile, { ...description, accounts });
    return { ...description, accounts, people };
  };

  const stop = async (): Promise<void> => {
    // Without a pid file, the folder belongs to another stack.
    if (!pidFile) return;
    await rm(demoFile, { force: true });
    for (const names of STOP_ORDER) await Promise.all(names.map(async (name) => processes.get(name)?.stop()));
    await pidFile.remove();
  };

  return { start, stop };
}

type Run = <Process extends Running>(name: string, start: () => Promise<Process>) => Promise<Process>;

/** The ports that this stack opens, by the variable that sets them. */
function portsToOpen({ ports, databaseUrl, temporal }: StackConfig): Readonly<Record<string, number>> {
  return {
    GENWAY_API_PORT: ports.api,
    GENWAY_TEXT_PORT: ports.text,
    GENWAY_SIMULATOR_PORT: ports.simulator,
    ...(databaseUrl === undefined && { GENWAY_POSTGRES_PORT: ports.postgres }),
    ...(temporal === undefined && { TEMPORAL_PORT: ports.temporal, TEMPORAL_UI_PORT: ports.temporalUi }),
  };
}

/** Starts the servers that the configuration does not name. */
async function startServers(
  { home, cacheFolder, ports, temporalNamespace: namespace, databaseUrl, temporal }: StackConfig,
  { run, report, password }: { readonly run: Run; readonly report: (line: string) => void; readonly password: string },
) {
  const uiPort = ports.temporalUi;
  return {
    databaseUrl: databaseUrl ?? (await runPostgres({ home, port: ports.postgres, password, settings: POSTGRES }, run)),
    temporal: temporal ?? {
      address: await runTemporal(
        { home, cacheFolder, port: ports.temporal, uiPort, namespace, isStateKept: true, report },
        run,
      ),
      uiUrl: `http://127.0.0.1:${uiPort}`,
    },
  };
}

interface ProgramOptions {
  readonly environment: NodeJS.ProcessEnv;
  readonly config: StackConfig;
  readonly write: (line: string) => void;
}

/** Starts a program of `bin`, which is compiled if this file is. */
async function startOwnProgram(name: string, { environment, config, write }: ProgramOptions): Promise<Running> {
  const output = (line: string): void => write(formatLogLine(name, line));
  const child = await startNode(`bin/${name}${EXTENSION}`, [], { env: environment, output });
  return { pid: child.pid, exited: child.exited, stop: () => child.stop(config.shutdownGraceMs + STOP_MARGIN_MS) };
}

async function runMigrations(startProgram: (name: string) => Promise<Running>): Promise<void> {
  const migration = await startProgram('migrate');
  if ((await migration.exited) !== 0)
    throw new Error('The database could not be migrated to the current schema; see above.');
}

function describe(config: Config): Omit<StackDescription, 'admin_token' | 'accounts'> {
  return {
    base_url: `http://127.0.0.1:${config.api.port}`,
    text_base_url: `http://127.0.0.1:${config.text.port}`,
    temporal_address: config.temporal.address,
    temporal_ui_url: config.temporal.uiUrl,
    database_url: config.database.url,
    simulator_url: config.simulator.url,
  };
}
