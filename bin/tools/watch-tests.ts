/**
 * Ends processes that hang in a run of tests. Each process that runs tests writes its current test to a file
 * (`test/support/hooks.ts`). A process that does not change its file for a long time hangs.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { processStat } from '../stack/process-stat.ts';

const FINISHED = ': finished';

interface TestProcess {
  readonly pid: number;
  /** The file and the test that the process runs, or `finished` after the file. */
  readonly test: string;
  readonly silentMs: number;
}

/** The processes that run tests now, according to the files in the folder. */
export function readProgress(folder: string): readonly TestProcess[] {
  return readdirSync(folder).flatMap((pid) => {
    if (!/^\d+$/.test(pid) || !signal(Number(pid), 0)) return [];
    const file = join(folder, pid);
    return [{ pid: Number(pid), test: readFileSync(file, 'utf8'), silentMs: Date.now() - statSync(file).mtimeMs }];
  });
}

/** The processes that hang. A process that has finished its file counts only if no process still runs tests. */
export function readSilentProcesses(folder: string, silenceMs: number): readonly TestProcess[] {
  const processes = readProgress(folder);
  const running = processes.filter(({ test }) => !test.endsWith(FINISHED));
  return (running.length > 0 ? running : processes).filter(({ silentMs }) => silentMs > silenceMs);
}

/**
 * Kills a process and all of its descendants, which may lead groups of their own. Parents come first, since some restart
 * their children.
 */
export function killTree(root: number): void {
  for (const pid of [root, ...descendantsOf(root)]) signal(pid, 'SIGKILL');
}

/** Returns whether the process exists. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The descendants of a process; parents come before their children. */
export function descendantsOf(root: number): readonly number[] {
  const processes = platform() === 'linux' ? readProcesses() : listProcesses();
  const found = [root];
  for (const parent of found) found.push(...processes.filter(([, ppid]) => ppid === parent).map(([pid]) => pid));
  return found.slice(1);
}

type PidAndParent = readonly [pid: number, parent: number];

function readProcesses(): readonly PidAndParent[] {
  return readdirSync('/proc').flatMap((pid): PidAndParent[] => {
    const [, parent] = /^\d+$/.test(pid) ? processStat(Number(pid)) : [];
    return parent === undefined ? [] : [[Number(pid), Number(parent)]];
  });
}

function listProcesses(): readonly PidAndParent[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return lines.map((line): PidAndParent => {
    const [pid = '', parent = ''] = line.trim().split(/\s+/);
    return [Number(pid), Number(parent)];
  });
}
