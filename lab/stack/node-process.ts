/** Programs of this repository, run by Node as children of this process. */
import { join, resolve } from 'node:path';
import { type RunningProcess, startProcess } from '../../bin/stack/child-process.ts';
import { logTail } from '../../bin/stack/log-tail.ts';
import { waitUntilReady } from '../../bin/stack/readiness.ts';

export interface NodeOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The file to which the output is appended. */
  readonly logFile: string;
  /** Modules that are loaded before the file's own. */
  readonly preload?: readonly string[];
}

/** The options of Node in the image, which the Dockerfile explains. */
export const NODE_OPTIONS = '--max-semi-space-size=64';

const ROOT = join(import.meta.dirname, '../..');
const TSX = import.meta.resolve('tsx');
const READY_TIMEOUT_MS = 90_000;
const ANSWER_TIMEOUT_MS = 10_000;

/** Starts a file, which is named from the root of the project unless its path is absolute. */
export async function startNode(
  file: string,
  args: readonly string[],
  { env, logFile, preload = [] }: NodeOptions,
): Promise<RunningProcess> {
  const loaders = file.endsWith('.ts') ? [TSX] : [];
  return startProcess({
    command: process.execPath,
    args: [...[...loaders, ...preload].flatMap((module) => ['--import', module]), resolve(ROOT, file), ...args],
    env,
    output: logFile,
  });
}

/** Runs a file to its end. @throws Error with the end of its log when it fails */
export async function runNode(file: string, args: readonly string[], options: NodeOptions): Promise<void> {
  const child = await startNode(file, args, options);
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
  options: NodeOptions,
): Promise<RunningProcess> {
  const child = await startNode(file, args, options);
  await waitUntilReady(child, { ready, name: file, logFile: options.logFile, timeoutMs: READY_TIMEOUT_MS });
  return child;
}
