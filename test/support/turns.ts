/** For how long a process was blocked, on a busy machine: measured as processor time. */
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface TurnWatch {
  /** The environment in which a process is watched. */
  readonly env: Readonly<Record<string, string>>;
  /** The longest turn of the process's event loop since the last call, in milliseconds of processor time. */
  longestMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Shorter turns do not delay requests. */
const LEAST_MS = 5;

/** A module of the watched process: it writes each long turn as a line of a file. All threads of the process count. */
const watching = (file: string): string => `
  import { appendFileSync } from 'node:fs';
  import { isMainThread } from 'node:worker_threads';
  let before = process.cpuUsage();
  function endTurn() {
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1000;
    if (ms >= ${LEAST_MS}) appendFileSync(${JSON.stringify(file)}, ms + '\\n');
    before = process.cpuUsage();
    setTimeout(endTurn, 1).unref();
  }
  if (isMainThread) endTurn();
`;

export async function watchTurns(): Promise<TurnWatch> {
  const folder = await mkdtemp(join(tmpdir(), 'genway-turns-'));
  const file = join(folder, 'turns');
  const watcher = join(folder, 'watcher.mjs');
  await Promise.all([appendFile(file, ''), writeFile(watcher, watching(file))]);
  return {
    env: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${pathToFileURL(watcher).href}` },
    longestMs: async () => {
      const turns = (await readFile(file, 'utf8')).split('\n');
      await truncate(file);
      return Math.max(0, ...turns.map(Number));
    },
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}
