/** The api process: serves everything under `{base_url}`, and runs the relay. */
import { createApp } from '../api/app.ts';
import { startRelay } from '../temporal/relay.ts';
import { loadConfig } from '../config.ts';
import { startMail } from '../console/mail.ts';
import { mountConsole } from '../console/serve.ts';
import { watchDatabaseState } from '../telemetry/database-gauges.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { listen } from '../net/http-server.ts';
import { createMailer } from '../net/mailer.ts';
import { begin } from './parts/begin.ts';
import { createLog, explainEnd, stopOnSignal } from './parts/process.ts';
import { openText } from './parts/text.ts';
import { watchDatabase } from './parts/watch-database.ts';
import { openWeb } from './parts/web.ts';

explainEnd();
const config = loadConfig();
const log = createLog('api', config);
const tracing = await openTracing('api', config.tracing);
const web = openWeb('api', config, log, tracing);
const text = openText(config, web, config.text.cutoffMs);
watchDatabaseState(web.dependencies.metrics.registry, web.dependencies.database);
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
const app = createApp({
  ...web.dependencies,
  pings,
  text: text.service,
  upstreams: text.upstreams,
  mountPages: mountConsole,
});
const server = await listen(tracing.serve(app.callback()), config.host, config.api.port);
const relay = startRelay({ ...web.dependencies, deliveryStarter: web.deliveryStarter });
const { database } = web.dependencies;
const mail = config.mail
  ? startMail({ database, mailer: createMailer(config.mail), publicUrl: config.api.publicUrl, log })
  : null;
log.info({ port: server.port }, 'listening');

stopOnSignal(log, config.shutdownGraceMs + 5_000, async () => {
  watch.stop();
  text.service.stop(config.shutdownGraceMs);
  await server.stop(config.shutdownGraceMs);
  await relay.stop();
  await mail?.stop();
  await text.close();
  await web.close();
});
