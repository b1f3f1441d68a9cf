/** The cores that a program may use. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Where Linux says the CPU limit of a container: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files */
const CPU_LIMIT_FILE = '/sys/fs/cgroup/cpu.max';

/** What the machine offers and the container may use. */
export interface AvailableCores {
  readonly cores: number;
  /** The CPU limit of the container, in cores; null without one. */
  readonly limit: number | null;
}

export function readAvailableCores(): AvailableCores {
  return { cores: availableParallelism(), limit: parseCpuLimit(readLimit()) };
}

/**
 * The number of text processes: the limit in whole cores, because the container has them for itself. Without a limit, one core
 * is left to the other programs of the machine. Never less than one.
 */
export function processesFor({ cores, limit }: AvailableCores): number {
  return Math.max(1, limit === null ? cores - 1 : Math.min(cores, Math.floor(limit)));
}

/** @param text the content of `cpu.max`: the time in a period, or `max`, and the period, both in microseconds */
export function parseCpuLimit(text: string): number | null {
  const [, time, period] = /^(\d+) (\d+)/.exec(text) ?? [];
  return time === undefined ? null : Number(time) / Number(period);
}

function readLimit(): string {
  try {
    return readFileSync(CPU_LIMIT_FILE, 'utf8');
  } catch {
    // Another system, or the first version of cgroups.
    return '';
  }
}
