/** Loaded by mocha before any test: reports the files of the process, and stops at the end what tests started. */
import { subscribe } from 'node:diagnostics_channel';
import { existsSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join, relative } from 'node:path';
import Mocha from 'mocha';
import { cpuSecondsOf, recordFileUsage } from '../../bin/tools/cpu-usage.ts';
import { configureProperties } from './properties.ts';
import { stopTestServices } from './services.ts';

configureProperties();

// Mocha passes Ctrl-C on to this process as SIGTERM too. An exit stops what tests started; a signal would not.
process.once('SIGTERM', () => process.exit(143));

/** The folder in which `npm test` looks for hanging processes. Without the folder, no run watches this process. */
const progressFolder = process.env['GENWAY_TEST_PROGRESS'];
/** Stays open: creating the file for each report took a twentieth of the time of a run. */
let progressFile: number | undefined;
let file = '';
let processes = 0;
let started = usageNow();
subscribe('child_process', () => (processes += 1));

function usageNow() {
  return { wallS: performance.now() / 1000, cpuS: cpuSecondsOf('self'), processes };
}

function recordUsage(): void {
  if (!progressFolder || !existsSync(progressFolder)) return;
  const { wallS, cpuS } = usageNow();
  const usage = { cpuS: cpuS - started.cpuS, wallS: wallS - started.wallS, processes: processes - started.processes };
  recordFileUsage(progressFolder, { file, ...usage });
}

function reportProgress(activity: string): void {
  if (!progressFolder || !existsSync(progressFolder)) return;
  progressFile ??= openSync(join(progressFolder, String(process.pid)), 'w');
  ftruncateSync(progressFile);
  writeSync(progressFile, `${file}: ${activity}`, 0);
}

// A file can hang while it loads, before any hook.
const { bdd } = Mocha.interfaces;
Mocha.interfaces.bdd = (suite) => {
  bdd(suite);
  suite.on(Mocha.Suite.constants.EVENT_FILE_PRE_REQUIRE, (_context, path) => {
    file = relative('.', path);
    started = usageNow();
    reportProgress('loading');
  });
};

export const mochaHooks = {
  beforeAll() {
    reportProgress('before the first test');
  },
  beforeEach(this: Mocha.Context) {
    reportProgress(`${this.currentTest?.fullTitle()}`);
  },
  afterEach(this: Mocha.Context) {
    reportProgress(`after ${this.currentTest?.fullTitle()}`);
  },
  afterAll() {
    reportProgress('finished');
    recordUsage();
  },
};

export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestServices();
}
