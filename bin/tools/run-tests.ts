/**
 * `npm test`: starts PostgreSQL and Temporal, runs all tests, or those in the given files and folders, in several mocha
 * processes, and stops the servers however the run ends. The last line of the output is `N passed, N failed`;
 * `test-results/rules.md` lists every rule that was checked.
 */
import { readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from '../stack/child-process.ts';
import { childEnvironment } from '../../config.ts';
import { createServices, MAX_TEST_PROCESSES } from '../../test/support/servers.ts';

const SUMMARY = /^\d+ passed, \d+ failed(, \d+ skipped)?$/;
/** Enough to stop what the running test has started. */
const STOP_GRACE_MS = 30_000;
const ALL_TESTS = 'test';
/** Tests with a stack wait for half of their time; with more at once, their time-outs would measure the machine. */
const MORE_JOBS_THAN_CORES = 2;
/** Started first, so that no process is left with a long file while the others have nothing to do. */
const LONG_TESTS = [
  'test/lab/drill/drill.',
  'test/lab/drill/vendors.',
  'test/workflows/vendors/',
  'test/source',
  'test/console/every-page',
  'test/console/browser',
  'test/bin/stack/',
  'test/workflows/',
  'test/api/',
  'test/db/',
  'test/storage/',
];
const root = join(import.meta.dirname, '../..');
const mocha = join(root, 'node_modules/mocha/bin/mocha.js');
const rulesPage = join(root, 'test-results/rules.md');

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

/** The environment through which tests find the servers that they share. */
async function startServers(): Promise<NodeJS.ProcessEnv> {
  const [databaseUrl, temporalAddress, workflowBundle, programs] = await Promise.all([
    services.database(),
    services.temporal(),
    services.workflowBundle(),
    services.programs(),
  ]);
  return {
    ...childEnvironment({}),
    GENWAY_TEST_DATABASE_URL: databaseUrl,
    GENWAY_TEST_TEMPORAL_ADDRESS: temporalAddress,
    GENWAY_TEST_WORKFLOW_BUNDLE: workflowBundle,
    GENWAY_TEST_PROGRAMS: programs,
  };
}

async function runMocha(env: NodeJS.ProcessEnv): Promise<boolean> {
  const jobs = Math.min(availableParallelism() + MORE_JOBS_THAN_CORES, MAX_TEST_PROCESSES);
  child = await startProcess({
    command: process.execPath,
    args: [
      mocha,
      '--parallel',
      `--jobs=${jobs}`,
      // Anything still open after the last test must not keep the run from ending.
      '--exit',
      `--reporter-option=rules=${rulesPage}`,
      ...(process.stdout.isTTY ? ['--color'] : []),
      ...mochaArguments(process.argv.slice(2)),
    ],
    env,
    // Mocha forwards this signal to the processes that run the tests.
    stopSignal: 'SIGINT',
    output: (line) => {
      lastLine = line;
      console.log(line);
    },
  });
  return (await child.exited) === 0;
}

/** Files and folders come first; everything from the first option on is passed to mocha. */
function mochaArguments(given: readonly string[]): string[] {
  const firstOption = given.findIndex((argument) => argument.startsWith('-'));
  const paths = firstOption === -1 ? given : given.slice(0, firstOption);
  const files = new Set((paths.length > 0 ? paths : [ALL_TESTS]).flatMap(testFiles));
  return [...given.slice(paths.length), ...[...files].sort((one, other) => rank(one) - rank(other))];
}

function testFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return files.flatMap((file) => (file.endsWith('.test.ts') ? [join(path, file)] : []));
}

function rank(file: string): number {
  const rank = LONG_TESTS.findIndex((path) => file.startsWith(path));
  return rank === -1 ? LONG_TESTS.length : rank;
}
