/** The text process: serves everything under `{text_base_url}`. */
import { createTextApp } from '../api/app.ts';
import { listen } from '../net/http-server.ts';
import { stopOnSignal } from './parts/process.ts';
import { openServing, RECORDING_MS } from './parts/serving.ts';

const { config, log, tracing, web, text, watch, dependencies } = await openServing('text', () => null);
const app = createTextApp(dependencies);
const server = await listen(tracing.serve(app.callback()), config.host, config.text.port);
log.info({ port: server.port }, 'listening');

stopOnSignal(log, config.shutdownGraceMs + RECORDING_MS, async () => {
  watch.stop();
  text.service.stop(config.shutdownGraceMs);
  await server.stop(config.shutdownGraceMs);
  await text.close();
  await web.close();
});
