/** The simulator process, which stands in for the upstreams. */
import { loadSimulatorConfig } from '../config.ts';
import { createSimulator } from '../simulator/simulator.ts';
import { createLog, printFatalErrors, stopOnSignal } from './parts/process.ts';

printFatalErrors();
const config = loadSimulatorConfig();
const log = createLog('simulator', config);
const { key: apiKey, callbackSecret } = config.simulator;
const simulator = createSimulator({ apiKey, callbackSecret });
const url = await simulator.listen(config.simulator.port, config.host);
log.info({ url }, 'listening');

stopOnSignal(log, config.shutdownGraceMs, () => simulator.close());
