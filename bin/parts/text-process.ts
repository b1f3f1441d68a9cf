/** One text process. */
import cluster, { type Worker } from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { createTextApp } from '../../api/app.ts';
import type { Config } from '../../config.ts';
import { listen } from '../../api/http-server.ts';
import { RECORDING_MS, stopOnSignal } from './process.ts';
import { openServing } from './serving.ts';
import { shareMetrics } from './shared-metrics.ts';
import { warmUp } from './warm-up.ts';

/**
 * The share of their limit, in percent, to which V8's old objects grow before V8 marks all objects: in small steps, and
 * at once. By default V8 starts as soon as the space left is smaller than that for new objects: with 64 MB for new
 * objects, every two seconds under load, and each time requests wait for up to 50 ms.
 */
const V8_FLAGS = ['--incremental-marking-soft-trigger=75', '--incremental-marking-hard-trigger=90'];

/** Serves text. In a worker of a primary, connections come from the primary's port, and metrics cover all workers. */
export async function serveText(config: Config): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  const { log, tracing, web, text, watch, dependencies, drain } = await openServing('text', config, null);
  const { worker } = cluster;
  const metrics = worker ? shareMetrics(worker, dependencies.metrics) : dependencies.metrics;
  const app = createTextApp({ ...dependencies, metrics });
  if (config.isProduction) await warmUpOrWarn({ ...dependencies, metrics });
  const server = await listen(
    dependencies.overload.guard(tracing.serve(app.callback())),
    config.host,
    config.text.port,
  );
  log.info({ port: server.port }, 'listening');

  stopOnSignal(log, config.drainMs + config.shutdownGraceMs + RECORDING_MS, async () => {
    watch.stop();
    await drain(server);
    text.service.stop(config.shutdownGraceMs);
    await server.stop(config.shutdownGraceMs);
    await text.close();
    await web.close();
  });
  if (worker) stopWithPrimary(worker);
}

/** A process without a warm-up serves, too, but slowly at first. */
async function warmUpOrWarn(dependencies: Parameters<typeof warmUp>[0]): Promise<void> {
  const { log } = dependencies;
  const startedAtMs = performance.now();
  try {
    const requests = await warmUp(dependencies);
    log.info({ requests, ms: Math.round(performance.now() - startedAtMs) }, 'warmed up');
  } catch (error) {
    log.warn({ err: error }, 'could not warm up; the first requests will be slow');
  }
}

/** Shuts down in order if the primary dies; by default, Node would exit immediately and lose unwritten charges. */
function stopWithPrimary(worker: Worker): void {
  worker.exitedAfterDisconnect = true;
  worker.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}
