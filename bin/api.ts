/** The api process: serves everything under `{base_url}`, and runs the relay. */
import { loadConfig } from '../config.ts';
import { createLog, printFatalErrors, stopOnSignal } from './parts/process.ts';
import { serveApi } from './parts/serve-api.ts';

printFatalErrors();
const config = loadConfig();
const log = createLog('api', config);
const { graceMs, stop } = await serveApi(config, log);
stopOnSignal(log, graceMs, stop);
