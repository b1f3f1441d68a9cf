/** The api process: serves everything under `{base_url}`, and runs the relay. */
import { createApp } from '../api/app.ts';
import { startAutoTopUps } from '../services/money/auto-top-ups.ts';
import { startInvoices } from '../services/money/invoices.ts';
import { startWebhookChecks } from '../services/webhooks/webhook-checks.ts';
import { loadConfig } from '../config.ts';
import { startMail } from '../console/mail.ts';
import { mountConsole } from '../console/serve.ts';
import { listen } from '../api/http-server.ts';
import { createMailer } from '../services/people/mailer.ts';
import { watchDatabaseState } from '../telemetry/database-gauges.ts';
import { startRelay } from '../services/tasks/relay.ts';
import { printFatalErrors, RECORDING_MS, stopOnSignal } from './parts/process.ts';
import { openServing } from './parts/serving.ts';

printFatalErrors();
const config = loadConfig();
const { log, tracing, web, text, watch, dependencies, drain } = await openServing('api', config, config.text.cutoffMs);
const { database, metrics } = dependencies;
watchDatabaseState(metrics.registry, database);
const app = createApp({ ...dependencies, mountPages: mountConsole });
const server = await listen(dependencies.overload.guard(tracing.serve(app.callback())), config.host, config.api.port);
const relay = startRelay({ ...dependencies, deliveryStarter: web.deliveryStarter });
const webhookChecks = startWebhookChecks({ database, calls: text.calls, log });
const topUps = web.checkout ? startAutoTopUps({ database, checkout: web.checkout, log }) : null;
const invoices = startInvoices({ database: dependencies.reports, seller: config.payments.seller, log });
const mail = config.mail
  ? startMail({ database, mailer: createMailer(config.mail), publicUrl: config.api.publicUrl, log })
  : null;
log.info({ port: server.port }, 'listening');

stopOnSignal(log, config.drainMs + config.shutdownGraceMs + RECORDING_MS, async () => {
  watch.stop();
  await drain(server);
  text.service.stop(config.shutdownGraceMs);
  await Promise.all([text.service.realtime.stop(config.shutdownGraceMs), server.stop(config.shutdownGraceMs)]);
  await relay.stop();
  await webhookChecks.stop();
  await mail?.stop();
  await topUps?.stop();
  await invoices.stop();
  await text.close();
  await web.close();
});
