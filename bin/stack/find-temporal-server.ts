/** Finds the Temporal CLI, which includes the development server, or installs it on this machine. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
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
const RELEASE: Release = {
  folder: `https://github.com/temporalio/cli/releases/download/v${TEMPORAL_CLI_VERSION}`,
  sha256: {
    linux_amd64: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
    linux_arm64: 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
    darwin_amd64: 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
    darwin_arm64: 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
  },
};
const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;

/** The archives of a release of the Temporal CLI. */
export interface Release {
  readonly folder: string;
  /** The digest of the archive for each platform, in hexadecimal. */
  readonly sha256: Readonly<Record<string, string>>;
}

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
    [
      `download from ${RELEASE.folder}`,
      () => addToCache(cached, (folder) => downloadTemporal(RELEASE, folder, report)),
    ],
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

/**
 * Downloads the CLI for this platform into a folder. Returns its path.
 *
 * @throws Error if the release has no archive for this platform, or if the archive is not the one that was published
 */
export async function downloadTemporal(
  { folder: source, sha256 }: Release,
  folder: string,
  report: Search['report'],
): Promise<string> {
  const target = `${platform()}_${arch() === 'x64' ? 'amd64' : arch()}`;
  const published = sha256[target];
  if (published === undefined) throw new Error(`the release has no archive for ${target}`);
  report(`looking for Temporal ${TEMPORAL_CLI_VERSION} at ${source}`);
  const archive = await downloadFile(`${source}/temporal_cli_${TEMPORAL_CLI_VERSION}_${target}.tar.gz`);
  const digest = createHash('sha256').update(archive).digest('hex');
  if (digest !== published) throw new Error(`the archive's SHA-256 is ${digest}, but ${published} was published`);
  await writeFile(join(folder, 'temporal.tar.gz'), archive);
  await run('tar', ['-xzf', 'temporal.tar.gz', 'temporal'], { cwd: folder });
  return join(folder, 'temporal');
}

async function downloadFile(address: string): Promise<Buffer> {
  const dispatcher = new EnvHttpProxyAgent({ connectTimeout: CONNECT_TIMEOUT_MS }).compose(
    interceptors.redirect({ maxRedirections: 5 }),
  );
  try {
    const { statusCode, body } = await request(address, {
      dispatcher,
      signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS),
    });
    const content = Buffer.from(await body.arrayBuffer());
    if (statusCode !== 200) throw new Error(`it answered ${statusCode}`);
    return content;
  } finally {
    await dispatcher.close();
  }
}
