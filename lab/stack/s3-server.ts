/**
 * A real S3 server for tests and drills: moto (https://docs.getmoto.org), a Python package, installed once into the user's cache.
 * Needs `python3` with pip on the PATH.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { childEnvironment } from '../../config.ts';

export interface S3Server {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string;
  close(): Promise<void>;
}

const PACKAGES = ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5'];
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const STOP_GRACE_MS = 10_000;
const CACHE_DIRECTORY = join(homedir(), '.cache', 'genway');
const INSTALLED_DIRECTORY = join(CACHE_DIRECTORY, 's3-server-moto-5.2.5');
/** Prints the port, and ends when its standard input does, so that no server outlives the tests. */
const SERVER_PROGRAM = `
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
`;

const run = promisify(execFile);

/** Why no S3 server can be started here, or null when one can. */
export async function s3ServerObstacle(): Promise<string | null> {
  try {
    await run('python3', ['-m', 'pip', '--version']);
    return null;
  } catch {
    return 'needs python3 with pip on the PATH';
  }
}

/** Starts a server with no buckets. The first time takes as long as pip needs, afterwards about two seconds. */
export async function startS3Server(): Promise<S3Server> {
  if (!existsSync(INSTALLED_DIRECTORY)) await install();
  const server = spawn('python3', ['-c', SERVER_PROGRAM], {
    env: { ...childEnvironment({}), PYTHONPATH: INSTALLED_DIRECTORY },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const { value: port } = await createInterface(server.stdout)[Symbol.asyncIterator]().next();
  if (port === undefined) throw new Error('the S3 server ended before it was ready; its errors are printed above');
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: async () => {
      server.stdin.end();
      const timer = setTimeout(() => server.kill('SIGKILL'), STOP_GRACE_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/**
 * Installs into another folder and renames it, so that an interrupted installation is never mistaken for a complete
 * one.
 */
async function install(): Promise<void> {
  await mkdir(CACHE_DIRECTORY, { recursive: true });
  const unfinished = await mkdtemp(join(CACHE_DIRECTORY, 'unfinished-'));
  try {
    const options = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore', '--target', unfinished];
    await run('python3', ['-m', 'pip', 'install', ...options, ...PACKAGES], { timeout: INSTALL_TIMEOUT_MS });
    await rename(unfinished, INSTALLED_DIRECTORY).catch((error: unknown) => {
      // Another run of the tests was faster.
      if (!existsSync(INSTALLED_DIRECTORY)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
