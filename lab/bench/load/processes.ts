/** The CPU time and memory of processes, and the cores that they run on. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { processTimes } from '../../../bin/stack/process-stat.ts';

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

/**
 * The CPU time that a process and its children have used, in microseconds; on Linux only.
 *
 * @throws Error on other systems, and when the process does not run
 */
export function cpuTimeUs(pid: number): number {
  const own = processTimes(pid);
  if (own === null) throw new Error(`the process ${pid} does not run, or this is not Linux`);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const children = pids.flatMap((name) => {
    const times = processTimes(Number(name));
    return times?.parentPid === pid ? [times.withEndedChildrenS] : [];
  });
  return children.reduce((sum, of) => sum + of, own.withEndedChildrenS) * 1e6;
}
