/** Starts child processes, handles their output, and stops them in order before killing them. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';

export interface ChildProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment; by default, the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** The destination of the output: a file to append to, or a function that receives each line. */
  readonly output: string | ((line: string) => void);
  /** The signal that asks the program to shut down in order. */
  readonly stopSignal?: NodeJS.Signals;
  /** The user to run as; only root may choose one. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

export interface RunningProcess {
  readonly pid: number;
  /** Resolves, and never rejects, with the exit code, or with the signal that ended the process. */
  readonly exited: Promise<ExitCause>;
  /** Asks the process to stop, and kills it if it has not stopped after `graceMs`. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>;
  /** Ends the process immediately, like a crash. */
  kill(): Promise<void>;
}

export type ExitCause = number | NodeJS.Signals;

const running = new Set<ChildProcess>();
const stopSignals = new WeakMap<ChildProcess, NodeJS.Signals>();

process.on('exit', () => {
  for (const child of running) child.kill(stopSignals.get(child));
});

/**
 * Starts a process in its own session, so that Ctrl-C in the terminal reaches only this process, which then stops its
 * children in order. If this process exits without stopping a child, it signals the child to stop.
 *
 * @throws Error if the command cannot be run
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
  // A spawned child has a pid.
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

/** Ends all children immediately, like a crash. */
export function killAll(): void {
  for (const { pid } of running) if (pid !== undefined) killGroup(pid);
}

/** Kills a child and its own children, which share its group. */
function killGroup(leaderPid: number): void {
  try {
    process.kill(-leaderPid, 'SIGKILL');
  } catch {
    // The whole group has already ended.
  }
}

/** Runs a command and waits for its end. */
export async function runCommand(options: ChildProcessOptions): Promise<ExitCause> {
  const child = await startProcess(options);
  return child.exited;
}
