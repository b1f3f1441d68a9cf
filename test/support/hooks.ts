/** Loaded by mocha before any test: reports what the process runs, and stops at the end what tests asked for. */
import { existsSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import Mocha from 'mocha';
import { stopTestServices } from './services.ts';

// Mocha passes Ctrl-C on to this process as SIGTERM too. To exit stops what tests have started; to end by the signal would not.
process.once('SIGTERM', () => process.exit(143));

/** In which `npm test` looks for processes that hang. */
const progressFolder = process.env['GENWAY_TEST_PROGRESS'];
let file = '';

function reportProgress(activity: string): void {
  // Where the folder is gone, nobody watches this process.
  if (progressFolder && existsSync(progressFolder)) {
    writeFileSync(join(progressFolder, String(process.pid)), `${file}: ${activity}`);
  }
}

// A file can hang while it loads, before any hook.
const { bdd } = Mocha.interfaces;
Mocha.interfaces.bdd = (suite) => {
  bdd(suite);
  suite.on(Mocha.Suite.constants.EVENT_FILE_PRE_REQUIRE, (_context, path) => {
    file = relative('.', path);
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
  },
};

export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestServices();
}
