/** How the processes that answer clients begin. */
import { type Config, loadConfig } from '../../config.ts';
import { openTracing } from '../../telemetry/open-tracing.ts';
import { begin } from './begin.ts';
import { warnOfPlainHttp } from './plain-http.ts';
import { createLog, explainEnd } from './process.ts';
import { openText } from './text.ts';
import { watchDatabase } from './watch-database.ts';
import { openWeb } from './web.ts';

/** After its clients, a process waits this long for a database that is unavailable, to record what it has delivered. */
export const RECORDING_MS = 30_000;

/** @param cutoffOf after how many milliseconds a text request that does not stream is cut off; null for never */
export async function openServing(kind: 'api' | 'text', cutoffOf: (config: Config) => number | null) {
  explainEnd();
  const config = loadConfig();
  const log = createLog(kind, config);
  const tracing = await openTracing(kind, config.tracing);
  warnOfPlainHttp(config, log);
  const web = await openWeb(kind, config, log, tracing);
  const { clock } = web.dependencies;
  const text = openText(config, web, cutoffOf(config));
  const begun = begin(log, async () => {
    await web.ready();
    await text.ready();
  });
  // From here on, new ids and timestamps follow the database's clock.
  await clock.measure().catch(() => undefined);
  const watch = watchDatabase({ url: config.database.url, clock, pings: [() => text.ping()], log });
  const dependencies = {
    ...web.dependencies,
    pings: [begun, () => text.ping()],
    text: text.service,
    upstreams: text.upstreams,
  };
  return { config, log, tracing, web, text, watch, dependencies };
}
