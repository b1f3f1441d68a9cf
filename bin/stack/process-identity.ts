/** Tells a process from another that was given the same pid later. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** When the process began, in the system's own words, or undefined when there is no such process. */
export async function processStart(pid: number): Promise<string | undefined> {
  try {
    if (platform() !== 'linux')
      return (await run('ps', ['-o', 'lstart=', '-p', String(pid)])).stdout.trim() || undefined;
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in parentheses and may hold spaces; the start time is the 22nd: proc_pid_stat(5).
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : fields[18];
  } catch {
    return undefined;
  }
}
