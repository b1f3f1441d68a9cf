/** Finds the Temporal CLI, which includes the development server, or installs it on this machine. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, interceptors, request } from 'undici';
import { buildWithGo, findCached, addToCache } from './go-program.ts';

const run = promisify(execFile);

/** The release with which Genway is developed. */
const TEMPORAL_CLI_VERSION = '1.5.1';
const SOURCE = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`;
const PROGRAM = { title: `Temporal ${TEMPORAL_CLI_VERSION}`, source: SOURCE };
/** Serves the release archives: https://docs.temporal.io/cli/setup-cli */
const DOWNLOAD_HOST = 'https://temporal.download';
const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;

interface Search {
  /** The folder that keeps a downloaded or built server for all of this user's projects. */
  readonly cacheFolder: string;
  /** Receives progress messages. */
  readonly report: (line: string) => void;
}

/**
 * Returns the path of a Temporal CLI: `temporal` on the PATH, or else the copy in the cache, after downloading it or
 * building it with Go if necessary.
 *
 * @throws Error that lists the attempts and says what to install
 */
export async function findTemporalServer({ cacheFolder, report }: Search): Promise<string> {
  const cached = join(cacheFolder, `temporal-${TEMPORAL_CLI_VERSION}`, 'temporal');
  const sources: readonly [string, () => Promise<string>][] = [
    ['`temporal` on PATH', findOnPath],
    [cached, () => findCached(cached)],
    [`download from ${DOWNLOAD_HOST}`, () => addToCache(cached, (folder) => download(folder, report))],
    [`go install ${SOURCE}`, () => addToCache(cached, (folder) => buildWithGo(folder, PROGRAM, report))],
  ];
  const failures: string[] = [];
  for (const [source, attempt] of sources) {
    try {
      return await attempt();
    } catch (error) {
      failures.push(`  - ${source}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
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

async function download(folder: string, report: Search['report']): Promise<string> {
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
    return join(folder, 'temporal');
  } finally {
    await dispatcher.close();
  }
}
