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

/** Linux reports times in these units to programs, whatever its own tick is. */
const TICKS_PER_S = 100;

export interface ProcessTimes {
  readonly parentPid: number;
  /** When the process started. A process id is used again; a process id with its start is not. */
  readonly startTicks: string;
  /** The processor time of the process, in seconds. */
  readonly ownS: number;
  /** The same, with its children that have ended and for which it waited. */
  readonly withEndedChildrenS: number;
}

/** The processor times of a process; null if the process does not exist, or outside Linux. */
export function processTimes(pid: number | 'self'): ProcessTimes | null {
  const fields = processStat(pid);
  if (fields.length === 0) return null;
  const at = (number: number): number => Number(fields[number - 3]);
  const ownTicks = at(14) + at(15);
  return {
    parentPid: at(4),
    startTicks: fields[22 - 3] ?? '',
    ownS: ownTicks / TICKS_PER_S,
    withEndedChildrenS: (ownTicks + at(16) + at(17)) / TICKS_PER_S,
  };
}
