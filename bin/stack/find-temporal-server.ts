/** Finds the Temporal CLI, which includes the development server, or installs it on this machine. */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, interceptors, request } from 'undici';
import { childEnvironment } from '../../config.ts';
import { runToEnd } from './child-process.ts';

const run = promisify(execFile);

/** The release with which Genway is developed. */
const TEMPORAL_CLI_VERSION = '1.5.1';
const MODULE = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`;
/** Serves the release archives: https://docs.temporal.io/cli/setup-cli */
const DOWNLOAD_HOST = 'https://temporal.download';
const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;
const PROGRESS_INTERVAL_MS = 10_000;

interface Search {
  /** Where a downloaded or built server is kept for all of this user's projects. */
  readonly cacheFolder: string;
  /** Receives progress messages. */
  readonly report: (line: string) => void;
}

/**
 * The path of a Temporal CLI: `temporal` on the PATH, or else the one in the cache, which is downloaded, or built with
 * Go, if necessary.
 *
 * @throws Error that says what was tried and what to install
 */
export async function findTemporalServer({ cacheFolder, report }: Search): Promise<string> {
  const cached = join(cacheFolder, `temporal-${TEMPORAL_CLI_VERSION}`, 'temporal');
  const ways: readonly [string, () => Promise<string>][] = [
    ['`temporal` on PATH', findOnPath],
    [cached, () => findCached(cached)],
    [`download from ${DOWNLOAD_HOST}`, () => intoCache(cached, (folder) => download(folder, report))],
    [`go install ${MODULE}`, () => intoCache(cached, (folder) => build(folder, report))],
  ];
  const failures: string[] = [];
  for (const [way, attempt] of ways) {
    try {
      return await attempt();
    } catch (error) {
      failures.push(`  - ${way}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
    }
  }
  throw new Error(
    `No Temporal server was found. Tried:\n${failures.join('\n')}\n` +
      'Install the Temporal CLI (https://docs.temporal.io/cli/setup-cli) or Go (https://go.dev/dl), or set TEMPORAL_ADDRESS to your own server.',
  );
}

async function findOnPath(): Promise<string> {
  await run('temporal', ['--version']).catch(() => {
    throw new Error('not found');
  });
  return 'temporal';
}

async function findCached(cached: string): Promise<string> {
  await access(cached, constants.X_OK).catch(() => {
    throw new Error('not found');
  });
  return cached;
}

/** Fills a temporary folder and moves the result into place, so that concurrent runs never see half a file. */
async function intoCache(cached: string, fill: (folder: string) => Promise<void>): Promise<string> {
  await mkdir(dirname(cached), { recursive: true });
  const folder = await mkdtemp(`${dirname(cached)}.`);
  try {
    await fill(folder);
    await rename(join(folder, 'temporal'), cached);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return cached;
}

async function download(folder: string, report: Search['report']): Promise<void> {
  const goArch = arch() === 'x64' ? 'amd64' : arch();
  const address = `${DOWNLOAD_HOST}/cli/archive/v${TEMPORAL_CLI_VERSION}?platform=${platform()}&arch=${goArch}`;
  report(`looking for Temporal ${TEMPORAL_CLI_VERSION} at ${DOWNLOAD_HOST}`);
  const dispatcher = new EnvHttpProxyAgent({ connectTimeout: CONNECT_TIMEOUT_MS }).compose(
    interceptors.redirect({ maxRedirections: 5 }),
  );
  try {
    const { statusCode, body } = await request(address, {
      dispatcher,
      signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS),
    });
    const archive = Buffer.from(await body.arrayBuffer());
    if (statusCode !== 200) throw new Error(`it answered ${statusCode}`);
    await writeFile(join(folder, 'temporal.tar.gz'), archive);
    await run('tar', ['-xzf', 'temporal.tar.gz', 'temporal'], { cwd: folder });
  } finally {
    await dispatcher.close();
  }
}

async function build(folder: string, report: Search['report']): Promise<void> {
  const { stdout } = await run('go', ['version']).catch(() => {
    throw new Error('Go is not installed');
  });
  report(
    `building Temporal ${TEMPORAL_CLI_VERSION} with ${stdout.trim()}; this happens only once and takes a few minutes`,
  );
  const startedAt = performance.now();
  let packages = 0;
  let lastLine = '';
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    report(`building Temporal: ${packages} packages after ${seconds} s`);
  }, PROGRESS_INTERVAL_MS);
  try {
    const exit = await runToEnd({
      command: 'go',
      args: ['install', '-v', MODULE],
      env: { ...childEnvironment({}), GOBIN: folder },
      output: (line) => {
        packages += 1;
        lastLine = line;
      },
    });
    if (exit !== 0) throw new Error(lastLine || `ended with ${exit}`);
  } finally {
    clearInterval(timer);
  }
}
