import { readFileSync } from 'node:fs';

/**
 * The facts about a process from its state on, as Linux gives them in /proc: the third field and those after it in
 * proc_pid_stat(5). Empty if the process does not exist.
 */
export function processStat(pid: number | 'self'): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the command in parentheses, may contain spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
