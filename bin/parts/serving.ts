/** Starts the parts of a process that answers clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createOverload } from '../../api/overload.ts';
import { recordLiveOverload } from '../../db/queries/live-overload.ts';
import type { Config } from '../../config.ts';
import type { RunningServer } from '../../api/http-server.ts';
import { openTracing } from '../../telemetry/open-tracing.ts';
import { startWithRetries } from './start-with-retries.ts';
import { warnOfConfiguration } from './configuration-warnings.ts';
import { openText } from './text.ts';
import { watchDatabase } from './watch-database.ts';
import { openHttpProcess } from './http-process.ts';

interface ServingOptions {
  readonly log: Logger;
  /** The time limit of text requests without streaming; null for none. */
  readonly cutoffMs: number | null;
}

export async function openServing(kind: 'api' | 'text', config: Config, { log, cutoffMs }: ServingOptions) {
  const tracing = await openTracing(kind, config.tracing);
  warnOfConfiguration(config, log);
  const web = await openHttpProcess(kind, config, log, tracing);
  const { clock } = web.dependencies;
  const text = openText(config, web, cutoffMs);
  const checkStarted = startWithRetries(log, async () => {
    await web.ready();
    await text.ready();
  });
  // From now on, new ids and timestamps follow the database's clock.
  await clock.measure().catch(() => undefined);
  const watch = watchDatabase({ url: config.database.url, clock, pings: [() => text.ping()], log });
  let isStopping = false;
  /** Serves on for a while, so that load balancers notice at `/readyz` that the process stops before it refuses them. */
  async function drain(server: Pick<RunningServer, 'endConnections'>): Promise<void> {
    isStopping = true;
    server.endConnections();
    await sleep(config.drainMs);
  }
  const overload = createOverload(web.dependencies.metrics, {
    // Without effect on live requests if the database does not answer.
    onRefusal: () => void recordLiveOverload(web.dependencies.database).catch(() => undefined),
  });
  const dependencies = {
    ...web.dependencies,
    overload,
    pings: [checkStarted, () => text.ping()],
    isStopping: () => isStopping,
    text: text.service,
    upstreams: text.upstreams,
  };
  return { tracing, web, text, watch, dependencies, drain };
}
