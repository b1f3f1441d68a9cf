/** The primary of several text processes: starts them, restarts each that dies, and stops all. Serves no requests. */
import type { ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { type Running, supervise } from '../stack/supervise.ts';
import { createLog, RECORDING_MS, stopOnSignal } from './process.ts';
import { sumMetrics } from './shared-metrics.ts';

/** Extra time for a stopping text process before the primary kills it, and then for the primary itself. */
const MARGIN_MS = 2_000;

/**
 * Resolves when all text processes listen.
 *
 * @throws OperatorError if a text process ends before it listens
 */
export async function superviseTextProcesses(config: Config, processes: number): Promise<void> {
  const { port } = config.text;
  const log = createLog('text', config);
  const killAfterMs = config.drainMs + config.shutdownGraceMs + RECORDING_MS + MARGIN_MS;
  const listening = new Set<ChildProcess>();
  let isStopping = false;
  sumMetrics();

  async function start(): Promise<Running> {
    const worker = cluster.fork();
    const { process: child } = worker;
    // The primary may hand a connection to a worker that has just died, and the connection is lost.
    worker.on('error', (error) => log.warn({ err: error }, 'a text process is unreachable'));
    const exited = once(child, 'exit').then(([code, signal]: unknown[]) => signal ?? code);
    await Promise.race([once(worker, 'listening'), exited.then(failStart)]);
    listening.add(child);
    child.once('exit', (code) => {
      listening.delete(child);
      if (isStopping && code !== 0) process.exitCode = 1;
    });
    return { pid: child.pid ?? 0, exited, stop: () => stop(child, exited) };
  }

  async function stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    await exited;
    clearTimeout(timer);
  }

  const started = Promise.all(
    Array.from({ length: processes }, (_, index) =>
      supervise({
        name: `text process ${index + 1}`,
        start,
        onStart: async () => {},
        report: (line) => log.error(line),
      }),
    ),
  );
  stopOnSignal(log, killAfterMs + MARGIN_MS, async () => {
    isStopping = true;
    const supervised = await started;
    await Promise.all(supervised.map((one) => one.stop()));
  });
  // A process that does not listen yet would die of the signal, and is about to read the files anyway.
  process.on('SIGHUP', () => {
    for (const child of listening) child.kill('SIGHUP');
  });
  await started;
  log.info({ port, processes }, 'all text processes are listening');
}

function failStart(cause: unknown): never {
  throw new OperatorError(`A text process ended while it started (${String(cause)}). Its own output says why.`);
}
