/** The text process without its protection from overload, and with another billing, if one is given. */
import { createTextApp } from '../../../api/app.ts';
import type { TextBillingService } from '../../../db/text-money/create-billing.ts';
import { listen } from '../../../api/http-server.ts';
import { createLog, stopOnSignal } from '../../../bin/parts/process.ts';
import { openText } from '../../../bin/parts/text.ts';
import { openHttpProcess } from '../../../bin/parts/http-process.ts';
import { loadConfig } from '../../../config.ts';
import { NO_TRACING } from '../../../telemetry/tracing.ts';

export async function serveBareText(billing?: TextBillingService): Promise<void> {
  const config = loadConfig();
  const log = createLog('text', config);
  const web = await openHttpProcess('text', config, log, NO_TRACING);
  const text = openText(config, web, null, billing);
  const app = createTextApp({ ...web.dependencies, text: text.service, upstreams: text.upstreams });
  const server = await listen(app.callback(), config.host, config.text.port);

  stopOnSignal(log, config.shutdownGraceMs, async () => {
    text.service.stop(config.shutdownGraceMs);
    await server.stop(config.shutdownGraceMs);
    await text.close();
    await web.close();
  });
}
