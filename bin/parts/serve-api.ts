/** Everything that an api process serves and runs, in the calling process. */
import type { Logger } from 'pino';
import { createApp } from '../../api/app.ts';
import { listen } from '../../api/http-server.ts';
import type { Config } from '../../config.ts';
import { startMails } from '../../console/mails/sender.ts';
import { mountConsole } from '../../console/serve.ts';
import { startAutoTopUps } from '../../services/money/auto-top-ups.ts';
import { startForgettingCustomers } from '../../services/money/departed-customers.ts';
import { startInvoices } from '../../services/money/invoices.ts';
import { createMailer } from '../../services/people/mailer.ts';
import { startRelay } from '../../services/tasks/relay.ts';
import { startWebhookChecks } from '../../services/webhooks/webhook-checks.ts';
import { watchDatabaseState } from '../../telemetry/database-gauges.ts';
import { RECORDING_MS, type RunningParts } from './process.ts';
import { openServing } from './serving.ts';

/** Serves everything under `{base_url}`, and runs the relay. Resolves when the server listens. */
export async function serveApi(config: Config, log: Logger): Promise<RunningParts> {
  const serving = await openServing('api', config, { log, cutoffMs: config.text.cutoffMs });
  const { tracing, web, text, watch, dependencies, drain } = serving;
  const { database, metrics } = dependencies;
  watchDatabaseState(metrics.registry, database);
  const app = createApp({ ...dependencies, mountPages: mountConsole });
  const server = await listen(dependencies.overload.guard(tracing.serve(app.callback())), config.host, config.api.port);
  const relay = startRelay({ ...dependencies, deliveryStarter: web.deliveryStarter, batchStarter: web.batchStarter });
  text.service.realtime.takeOverCalls();
  const webhookChecks = startWebhookChecks({ database, calls: text.calls, log });
  const { publicUrl } = config.api;
  const topUps = web.checkout ? startAutoTopUps({ database, checkout: web.checkout, publicUrl, log }) : null;
  const departures = web.checkout ? startForgettingCustomers({ database, checkout: web.checkout, log }) : null;
  const invoices = startInvoices({ database: dependencies.reports, seller: config.payments.seller, log });
  const mail = config.mail
    ? startMails({
        database,
        mailer: createMailer(config.mail),
        publicUrl,
        site: dependencies.site,
        catalogue: dependencies.catalogue,
        log,
      })
    : null;
  log.info({ port: server.port }, 'listening');

  return {
    graceMs: config.drainMs + config.shutdownGraceMs + RECORDING_MS,
    stop: async () => {
      watch.stop();
      await drain(server);
      text.service.stop(config.shutdownGraceMs);
      await Promise.all([text.service.realtime.stop(config.shutdownGraceMs), server.stop(config.shutdownGraceMs)]);
      await relay.stop();
      await webhookChecks.stop();
      await mail?.stop();
      await topUps?.stop();
      await departures?.stop();
      await invoices.stop();
      await text.close();
      await web.close();
    },
  };
}
