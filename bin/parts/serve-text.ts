/** Everything that a text process serves, in the calling process. */
import type { Logger } from 'pino';
import { createTextApp } from '../../api/app.ts';
import { listen } from '../../api/http-server.ts';
import type { Config } from '../../config.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { RECORDING_MS, type RunningParts } from './process.ts';
import { openServing } from './serving.ts';
import { warmUp } from './warm-up.ts';

interface TextOptions {
  readonly log: Logger;
  /** Returns the metrics to report, by the metrics of this process; by default, the same. */
  readonly shareMetrics?: (metrics: Metrics) => Metrics;
}

/** Serves everything under `{text_base_url}`. Resolves when the server listens. */
export async function serveText(
  config: Config,
  { log, shareMetrics = (own) => own }: TextOptions,
): Promise<RunningParts> {
  const { tracing, web, text, watch, ...serving } = await openServing('text', config, { log, cutoffMs: null });
  const dependencies = { ...serving.dependencies, metrics: shareMetrics(serving.dependencies.metrics) };
  const app = createTextApp(dependencies);
  if (config.isProduction) await warmUpOrWarn(dependencies);
  const server = await listen(
    dependencies.overload.guard(tracing.serve(app.callback())),
    config.host,
    config.text.port,
  );
  log.info({ port: server.port }, 'listening');

  return {
    graceMs: config.drainMs + config.shutdownGraceMs + RECORDING_MS,
    stop: async () => {
      watch.stop();
      await serving.drain(server);
      text.service.stop(config.shutdownGraceMs);
      await server.stop(config.shutdownGraceMs);
      await text.close();
      await web.close();
    },
  };
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
