/** Distinguishes a process from a later one with the same pid. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processStat } from './process-stat.ts';

const run = promisify(execFile);

const KILL_WAIT_MS = 5_000;

/** The start time of the process, in the system's own format; undefined if the process does not exist. */
export async function processStart(pid: number): Promise<string | undefined> {
  if (platform() !== 'linux') return processStatus(pid, 'lstart');
  const [state, ...fields] = processStat(pid);
  return state === 'Z' ? undefined : fields[18];
}

/** The command line of the process; undefined if the process does not exist. */
export async function processCommand(pid: number): Promise<string | undefined> {
  if (platform() !== 'linux') return processStatus(pid, 'command');
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return commandLine.replaceAll('\0', ' ') || undefined;
}

async function processStatus(pid: number, column: string): Promise<string | undefined> {
  return run('ps', ['-o', `${column}=`, '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim() || undefined,
    () => undefined,
  );
}

/**
 * Ends a process that is not a child of this process: sends the signal, and kills the process after `graceMs`. Resolves
 * when the process has ended.
 *
 * @throws Error if the process still runs afterwards
 */
export async function endProcess(pid: number, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  const start = await processStart(pid);
  if (start === undefined) return;
  const steps: readonly [NodeJS.Signals, number][] = [
    [signal, graceMs],
    ['SIGKILL', KILL_WAIT_MS],
  ];
  for (const [nextSignal, waitMs] of steps) {
    signalProcess(pid, nextSignal);
    if (await isGone(pid, start, waitMs)) return;
  }
  throw new Error(`Process ${pid} cannot be stopped. Stop it by hand.`);
}

async function isGone(pid: number, start: string, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  while ((await processStart(pid)) === start) {
    if (performance.now() > deadline) return false;
    await sleep(50);
  }
  return true;
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended by itself.
  }
}
