/** Divides the cores of the machine, so that the load generator takes no time of the measured process. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Pins a process, and the children that it starts from then on, to one core; on Linux only.
 *
 * @param core from 0
 */
export async function keepOnCore(pid: number, core: number): Promise<void> {
  await run('taskset', ['--all-tasks', '--pid', '--cpu-list', String(core), String(pid)]);
}
