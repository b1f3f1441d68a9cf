/** One text process. */
import cluster, { type Worker } from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../../config.ts';
import { createLog, stopOnSignal } from './process.ts';
import { serveText } from './serve-text.ts';
import { shareMetrics } from './shared-metrics.ts';

/**
 * The share of their limit, in percent, to which V8's old objects grow before V8 marks all objects: in small steps, and
 * at once. By default V8 starts as soon as the space left is smaller than that for new objects: with 64 MB for new
 * objects, every two seconds under load, and each time requests wait for up to 50 ms.
 */
const V8_FLAGS = ['--incremental-marking-soft-trigger=75', '--incremental-marking-hard-trigger=90'];

/** Serves text. In a worker of a primary, connections come from the primary's port, and metrics cover all workers. */
export async function runTextProcess(config: Config): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  const log = createLog('text', config);
  const { worker } = cluster;
  const { graceMs, stop } = await serveText(config, {
    log,
    ...(worker && { shareMetrics: (metrics) => shareMetrics(worker, metrics) }),
  });
  stopOnSignal(log, graceMs, stop);
  if (worker) stopWithPrimary(worker);
}

/** Shuts down in order if the primary dies; by default, Node would exit immediately and lose unwritten charges. */
function stopWithPrimary(worker: Worker): void {
  worker.exitedAfterDisconnect = true;
  worker.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}
