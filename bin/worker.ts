/** The worker process, which runs workflows and their activities. */
import { loadConfig } from '../config.ts';
import { createLog, printFatalErrors, stopOnSignal } from './parts/process.ts';
import { runWorker } from './parts/run-worker.ts';
import { installTemporalRuntime } from './parts/temporal-runtime.ts';

printFatalErrors();
const config = loadConfig();
const log = createLog('worker', config);
const readSdkMetrics = await installTemporalRuntime(log);
const { graceMs, stop } = await runWorker(config, { log, readSdkMetrics });
stopOnSignal(log, graceMs, stop);
