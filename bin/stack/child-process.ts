/** Child processes that are always waited for: started with their output going somewhere, stopped politely, then by force. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';

export interface ChildProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment; that of this process when absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where the output goes: a file, to which it is appended, or a function that gets each line. */
  readonly output: string | ((line: string) => void);
  /** The signal that asks this program to stop in order. */
  readonly stopSignal?: NodeJS.Signals;
  /** The user to run as; only root can ask for one. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

export interface RunningProcess {
  readonly pid: number;
  /** Resolves, and never rejects, when the process has ended: with its exit code, or the signal that ended it. */
  readonly exited: Promise<ExitCause>;
  /** Asks the process to stop, and kills it when it has not done so after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>;
  /** Ends the process at once, as a crash would. */
  kill(): Promise<void>;
}

export type ExitCause = number | NodeJS.Signals;

const running = new Set<ChildProcess>();
const stopSignals = new WeakMap<ChildProcess, NodeJS.Signals>();

process.on('exit', () => {
  for (const child of running) child.kill(stopSignals.get(child));
});

/**
 * Starts a process in a session of its own, so that Ctrl-C in the terminal reaches only this process, which then stops its
 * children in order. Should this process exit without stopping a child, the child is asked to stop.
 *
 * @throws Error when the command cannot be run
 */
export async function startProcess(options: ChildProcessOptions): Promise<RunningProcess> {
  const { command, args, env, output, stopSignal = 'SIGTERM', user } = options;
  const logFile = typeof output === 'string' ? await open(output, 'a') : undefined;
  try {
    const sink = logFile ? logFile.fd : 'pipe';
    const child = spawn(command, args, { detached: true, stdio: ['ignore', sink, sink], ...(env && { env }), ...user });
    if (typeof output === 'function') forwardLines(child, output);
    await once(child, 'spawn');
    return track(child, stopSignal);
  } finally {
    await logFile?.close();
  }
}

function forwardLines(child: ChildProcess, onLine: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', onLine);
  }
}

function track(child: ChildProcess, stopSignal: NodeJS.Signals): RunningProcess {
  running.add(child);
  stopSignals.set(child, stopSignal);
  const exited = new Promise<ExitCause>((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal ?? 1);
    });
  });
  // A child that was spawned has a pid.
  const pid = child.pid ?? 0;
  return {
    pid,
    exited,
    stop: async (graceMs) => {
      child.kill(stopSignal);
      const timer = setTimeout(() => killGroup(pid), graceMs);
      await exited;
      clearTimeout(timer);
    },
    kill: async () => {
      killGroup(pid);
      await exited;
    },
  };
}

/** Ends every child at once, as a crash would. */
export function killAll(): void {
  for (const { pid } of running) if (pid !== undefined) killGroup(pid);
}

/** A child may have children of its own, which share its group. */
function killGroup(leaderPid: number): void {
  try {
    process.kill(-leaderPid, 'SIGKILL');
  } catch {
    // All of it has ended already.
  }
}

/** Runs a command to its end. */
export async function runToEnd(options: ChildProcessOptions): Promise<ExitCause> {
  const child = await startProcess(options);
  return child.exited;
}
