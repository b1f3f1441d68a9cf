/** Programs of this repository, run by Node as children of this process. */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ChildProcessOptions, type RunningProcess, startProcess } from './child-process.ts';
import { logTail } from './log-tail.ts';
import { waitUntilReady } from './readiness.ts';

interface NodeOptions extends Pick<ChildProcessOptions, 'output'> {
  readonly env: NodeJS.ProcessEnv;
  /** Modules that are loaded before the file's own. */
  readonly preload?: readonly string[];
}

interface LoggedOptions extends Omit<NodeOptions, 'output'> {
  /** The file to which the output is appended. */
  readonly logFile: string;
}

/** The options of Node in the image, which the Dockerfile explains. */
export const NODE_OPTIONS = '--max-semi-space-size=64';

const ROOT = join(import.meta.dirname, '../..');
const READY_TIMEOUT_MS = 90_000;
const ANSWER_TIMEOUT_MS = 10_000;

/** Starts a file, which is named from the root of the project unless its path is absolute. */
export async function startNode(
  file: string,
  args: readonly string[],
  { env, output, preload = [] }: NodeOptions,
): Promise<RunningProcess> {
  const loaders = file.endsWith('.ts') ? [pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : [];
  return startProcess({
    command: process.execPath,
    args: [...[...loaders, ...preload].flatMap((module) => ['--import', module]), resolve(ROOT, file), ...args],
    env,
    output,
  });
}

/** Runs a file to its end. @throws Error with the end of its log when it fails */
export async function runNode(file: string, args: readonly string[], options: LoggedOptions): Promise<void> {
  const child = await startNode(file, args, { ...options, output: options.logFile });
  if ((await child.exited) !== 0) throw new Error(`${file} failed:\n${await logTail(options.logFile)}`);
}

/** Resolves once the address answers, with any status. @throws Error when it does not */
export async function expectAnswer(url: string): Promise<void> {
  await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
}

/**
 * Starts a file, and waits until it is ready.
 *
 * @param ready throws while the program does not do its work
 * @throws Error with the end of its log when it does not become ready; it has been stopped then
 */
export async function startUntil(
  ready: () => Promise<unknown>,
  file: string,
  args: readonly string[],
  options: LoggedOptions,
): Promise<RunningProcess> {
  const child = await startNode(file, args, { ...options, output: options.logFile });
  await waitUntilReady(child, { ready, name: file, logFile: options.logFile, timeoutMs: READY_TIMEOUT_MS });
  return child;
}
