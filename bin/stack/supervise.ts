/** Keeps one process running. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that can be supervised. */
export interface Running {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}

export interface Killable extends Running {
  /** Ends the process like a crash. */
  kill(): Promise<void>;
}

export interface Supervised<Process> {
  /** The first process, before any restart. */
  readonly first: Process;
  /** Stops the process for good. */
  stop(): Promise<void>;
}

interface SupervisionOptions<Process> {
  readonly name: string;
  readonly start: () => Promise<Process>;
  /** Called for each started process. */
  readonly onStart: (pid: number) => Promise<void>;
  readonly report: (line: string) => void;
}

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;
/** A process that has run this long was healthy, and resets the delay. */
const HEALTHY_AFTER_MS = 30_000;

/**
 * Starts a process, and restarts it whenever it ends unexpectedly, after a delay that doubles with each failure.
 *
 * @throws the error of the first start
 */
export async function supervise<Process extends Running>(
  options: SupervisionOptions<Process>,
): Promise<Supervised<Process>> {
  const { name, onStart, report } = options;
  const stopping = new AbortController();
  const start = async (): Promise<Process> => {
    const process = await options.start();
    await onStart(process.pid);
    return process;
  };
  const first = await start();
  let current: Process = first;

  const keepRunning = async (): Promise<void> => {
    let delayMs = FIRST_DELAY_MS;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const cause = await current.exited;
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > HEALTHY_AFTER_MS) delayMs = FIRST_DELAY_MS;
      report(`${name} ended unexpectedly (${String(cause)}); restarting it in ${delayMs} ms`);
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => {});
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      if (stopping.signal.aborted) return;
      current = await start().catch((error: unknown) => failed(current, error));
    }
  };
  const failed = (process: Process, error: unknown): Process => {
    report(`${name} did not start: ${error instanceof Error ? error.message : String(error)}`);
    return process;
  };
  const kept = keepRunning();

  return {
    first,
    stop: async () => {
      stopping.abort();
      await current.stop();
      await kept;
      // A restart may have happened at the same time as the first stop.
      await current.stop();
    },
  };
}
