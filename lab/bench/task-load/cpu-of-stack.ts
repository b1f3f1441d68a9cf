/** The CPU time of every process that takes part in a task. */
import { rounded } from '../statistics.ts';
import { cpuTimeUs } from '../load/processes.ts';
import type { Stack } from '../../stack/stack.ts';

/** Milliseconds by process; `bench` is this one, with the clients and the simulator. */
export type CpuTimes = Readonly<Record<string, number>>;

/**
 * Returns the CPU time that the processes of a stack have used so far.
 *
 * @param others further processes, by name
 */
export function cpuTimesOf(
  { members }: Pick<Stack, 'members'>,
  others: Readonly<Record<string, number>> = {},
): CpuTimes {
  const pids = [...members.map((member) => [member.role, member.pid()] as const), ...Object.entries(others)];
  const { user, system } = process.cpuUsage();
  const times: Record<string, number> = { bench: (user + system) / 1_000 };
  for (const [name, pid] of pids) times[name] = (times[name] ?? 0) + cpuTimeUs(pid) / 1_000;
  return times;
}

/** Returns the CPU time of each process between two measurements, in milliseconds for each piece of work. */
export function cpuTimesBetween(before: CpuTimes, after: CpuTimes, count: number): CpuTimes {
  return Object.fromEntries(
    Object.entries(after).map(([name, ms]) => [name, rounded((ms - (before[name] ?? 0)) / count, 2)]),
  );
}
