/** Builds programs written in Go, and keeps programs in a cache. */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../config.ts';
import { runCommand } from './child-process.ts';

const run = promisify(execFile);

const PROGRESS_INTERVAL_MS = 10_000;

export interface GoProgram {
  /** For reports, such as `Temporal 1.5.1`. */
  readonly title: string;
  /** The package with its version, in the form for `go install`. */
  readonly source: string;
}

/**
 * Builds a program with `go install`, which takes minutes.
 *
 * @param folder receives the program
 * @param report receives progress messages
 * @returns the path of the program
 * @throws Error if Go is not installed, or with the last line of a failed build
 */
export async function buildWithGo(
  folder: string,
  { title, source }: GoProgram,
  report: (line: string) => void,
): Promise<string> {
  const { stdout } = await run('go', ['version']).catch(() => {
    throw new Error('Go is not installed');
  });
  report(`building ${title} with ${stdout.trim()}; this happens only once and takes a few minutes`);
  const startedAt = performance.now();
  let packages = 0;
  let lastLine = '';
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    report(`building ${title}: ${packages} packages after ${seconds} s`);
  }, PROGRESS_INTERVAL_MS);
  try {
    const exit = await runCommand({
      command: 'go',
      args: ['install', '-v', source],
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
  return join(folder, basename(source.split('@')[0] ?? source));
}

/** Returns the path of a program in the cache. @throws Error if the cache lacks the program */
export async function findCached(cached: string): Promise<string> {
  await access(cached, constants.X_OK).catch(() => {
    throw new Error('not found');
  });
  return cached;
}

/**
 * Fills a temporary folder and moves the program into the cache, so that concurrent runs never see half a file.
 *
 * @param fill puts the program into the folder, and returns its path
 * @returns the path in the cache
 */
export async function addToCache(cached: string, fill: (folder: string) => Promise<string>): Promise<string> {
  await mkdir(dirname(cached), { recursive: true });
  const folder = await mkdtemp(`${dirname(cached)}.`);
  try {
    await rename(await fill(folder), cached);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return cached;
}
