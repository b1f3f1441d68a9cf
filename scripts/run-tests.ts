/**
 * `npm test`: starts PostgreSQL and Temporal, runs mocha on the files and folders that are named, or on all tests, and stops
 * the servers again however the run ends. The last line of the output is `N passed, N failed`.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from '../bin/stack/child-process.ts';
import { childEnvironment } from '../config.ts';
import { createServices } from '../test/support/servers.ts';

const SUMMARY = /^\d+ passed, \d+ failed(, \d+ skipped)?$/;
/** Enough for what the running test has started to be stopped after it. */
const STOP_GRACE_MS = 30_000;
const mocha = join(import.meta.dirname, '../node_modules/mocha/bin/mocha.js');

const services = createServices(console.log);
let child: RunningProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stopEarly());

let passed = false;
let lastLine = '';
try {
  passed = await runMocha(await startServers());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  await services.stop();
}
if (!SUMMARY.test(lastLine)) console.log('0 passed, 1 failed');
process.exit(passed ? 0 : 1);

async function stopEarly(): Promise<void> {
  await child?.stop(STOP_GRACE_MS);
  await services.stop();
  process.exit(130);
}

/** The environment that leads the tests to the servers. */
async function startServers(): Promise<NodeJS.ProcessEnv> {
  const [databaseUrl, temporalAddress] = await Promise.all([services.database(), services.temporal()]);
  return {
    ...childEnvironment({}),
    GENWAY_TEST_DATABASE_URL: databaseUrl,
    GENWAY_TEST_TEMPORAL_ADDRESS: temporalAddress,
  };
}

async function runMocha(env: NodeJS.ProcessEnv): Promise<boolean> {
  const named = process.argv.slice(2);
  child = await startProcess({
    command: process.execPath,
    // Something that is still open after the last test must not keep the run from ending.
    args: [mocha, '--exit', ...(process.stdout.isTTY ? ['--color'] : []), ...patterns(named)],
    env,
    // The signal that mocha passes on to the process that runs the tests.
    stopSignal: 'SIGINT',
    output: (line) => {
      lastLine = line;
      console.log(line);
    },
  });
  return (await child.exited) === 0;
}

/** Mocha's arguments: options and files as they are, folders as the tests in them. */
function patterns(named: readonly string[]): string[] {
  if (named.length === 0) return ['test/**/*.test.ts'];
  return named.map((name) => (isFolder(name) ? join(name, '**/*.test.ts') : name));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
