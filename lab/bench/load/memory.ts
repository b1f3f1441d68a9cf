import { execFileSync } from 'node:child_process';

/** The memory of a process that is not swapped out. */
export function residentMegabytesOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024;
}
