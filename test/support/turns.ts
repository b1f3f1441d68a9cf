/** For how long a process was held up, on a machine that has other things to do: measured as time of the processor. */
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface TurnWatch {
  /** The environment in which a process is watched. */
  readonly env: Readonly<Record<string, string>>;
  /** The longest turn of the process's event loop since this was asked last, in milliseconds of the processor. */
  longestMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Shorter turns hold nobody up. */
const LEAST_MS = 5;

/** What the watched process runs besides: it notes each long turn in a line of a file. All of its threads count. */
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
