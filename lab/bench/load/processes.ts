/** The CPU time and memory of processes, and the cores that they run on. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { processStat } from '../../../bin/stack/process-stat.ts';

const run = promisify(execFile);

/**
 * Pins a process, and the children that it starts from then on, to one core, so that the load generator takes no time of the
 * measured process; on Linux only.
 *
 * @param core from 0
 */
export async function keepOnCore(pid: number, core: number): Promise<void> {
  await run('taskset', ['--all-tasks', '--pid', '--cpu-list', String(core), String(pid)]);
}

/** The memory of a process that is not swapped out. */
export function residentMegabytesOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024;
}

/** Linux reports in these units to programs, whatever its own tick is. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly parentPid: number;
  /** The CPU time of the process, and of its children that have exited. */
  readonly ticks: number;
}

/**
 * The CPU time that a process and its children have used, in microseconds; on Linux only.
 *
 * @throws Error on other systems, and when the process does not run
 */
export function cpuTimeUs(pid: number): number {
  const own = statOf(pid);
  if (own === null) throw new Error(`the process ${pid} does not run, or this is not Linux`);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = pids.flatMap((name) => {
    const stat = statOf(Number(name));
    return stat?.parentPid === pid ? [stat.ticks] : [];
  });
  const ticks = children.reduce((sum, of) => sum + of, own.ticks);
  return (ticks / TICKS_PER_SECOND) * 1e6;
}

/** Null for a process that does not run. */
function statOf(pid: number): Stat | null {
  const fields = processStat(pid);
  if (fields.length === 0) return null;
  const at = (number: number): number => Number(fields[number - 3]);
  return { parentPid: at(4), ticks: at(14) + at(15) + at(16) + at(17) };
}
