/** The CPU time and memory of processes, and the cores that they run on. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

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
  readonly ownTicks: number;
  /** The CPU time of children that have exited. */
  readonly childTicks: number;
}

/**
 * The CPU time that a process and its children have used, in microseconds; on Linux only.
 *
 * @throws Error on other systems, and when the process does not run
 */
export function cpuTimeUs(pid: number): number {
  const { ownTicks, childTicks } = statOf(pid);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = pids.flatMap((name) => {
    const stat = tryStatOf(Number(name));
    return stat?.parentPid === pid ? [stat.ownTicks + stat.childTicks] : [];
  });
  const ticks = children.reduce((sum, of) => sum + of, ownTicks + childTicks);
  return (ticks / TICKS_PER_SECOND) * 1e6;
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function statOf(pid: number): Stat {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const at = (number: number): number => Number(fields[number - 3]);
  return { parentPid: at(4), ownTicks: at(14) + at(15), childTicks: at(16) + at(17) };
}

/** Null for a process that has ended in the meantime. */
function tryStatOf(pid: number): Stat | null {
  try {
    return statOf(pid);
  } catch {
    return null;
  }
}
