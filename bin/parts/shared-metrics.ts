/** Lets each of several text processes report the metrics of all: it asks the primary, which asks all processes. */
import cluster, { type Worker } from 'node:cluster';
import type { Metrics } from '../../telemetry/metrics.ts';
import { SummedMetrics } from '../../telemetry/summed-metrics.ts';
import { openWorkerChannel } from './worker-channel.ts';

/** How long the primary waits for a text process, which may be frozen. */
const SNAPSHOT_TIMEOUT_MS = 1_000;
const SUMS_TIMEOUT_MS = 5_000;

/** Gives the primary the metrics of this process. @returns metrics that render the sums over all processes */
export function shareMetrics(worker: Worker, metrics: Metrics): Metrics {
  const ask = openWorkerChannel(worker, () => metrics.registry.getMetricsAsJSON());
  return {
    ...metrics,
    render: async () => String(await ask(SUMS_TIMEOUT_MS)),
  };
}

/** Makes this primary answer its workers with the sums of their metrics. */
export function sumMetrics(): void {
  const sums = new SummedMetrics();
  const workers = new Map<Worker, (timeoutMs: number) => Promise<unknown>>();

  async function render(): Promise<string> {
    await Promise.all(
      [...workers].map(async ([worker, ask]) => {
        const metrics = await ask(SNAPSHOT_TIMEOUT_MS).catch(() => null);
        // The answer may arrive after the worker has ended.
        if (Array.isArray(metrics) && workers.has(worker)) sums.update(worker.id, metrics);
      }),
    );
    return sums.render();
  }

  // A worker that does not listen yet would not answer.
  cluster.on('listening', (worker) => workers.set(worker, openWorkerChannel(worker, render)));
  cluster.on('exit', (worker) => {
    workers.delete(worker);
    sums.end(worker.id);
  });
}
