/** Divides the cores of the machine, so that what puts load on a process takes none of its time. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Keeps a process, and the children that it starts from then on, on one core; on Linux only.
 *
 * @param core from 0
 */
export async function keepOnCore(pid: number, core: number): Promise<void> {
  await run('taskset', ['--all-tasks', '--pid', '--cpu-list', String(core), String(pid)]);
}
