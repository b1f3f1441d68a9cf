/** The text process: serves everything under `{text_base_url}`. */
import { createTextApp } from '../api/app.ts';
import { loadConfig } from '../config.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { listen } from '../net/http-server.ts';
import { begin } from './parts/begin.ts';
import { createLog, explainEnd, stopOnSignal } from './parts/process.ts';
import { openText } from './parts/text.ts';
import { watchDatabase } from './parts/watch-database.ts';
import { openWeb } from './parts/web.ts';

explainEnd();
const config = loadConfig();
const log = createLog('text', config);
const tracing = await openTracing('text', config.tracing);
const web = openWeb('text', config, log, tracing);
const text = openText(config, web, null);
const begun = begin(log, async () => {
  await web.ready();
  await text.ready();
});
const pings = [begun, () => text.ping()];
// From here on, new ids and timestamps follow the database's clock.
await web.dependencies.clock.measure().catch(() => undefined);
const watch = watchDatabase({
  url: config.database.url,
  clock: web.dependencies.clock,
  pings: [() => text.ping()],
  log,
});
const app = createTextApp({ ...web.dependencies, pings, text: text.service, upstreams: text.upstreams });
const server = await listen(tracing.serve(app.callback()), config.host, config.text.port);
log.info({ port: server.port }, 'listening');

stopOnSignal(log, config.shutdownGraceMs + 5_000, async () => {
  watch.stop();
  text.service.stop(config.shutdownGraceMs);
  await server.stop(config.shutdownGraceMs);
  await text.close();
  await web.close();
});
