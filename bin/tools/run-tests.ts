/**
 * `npm test`: runs the tests that every change must pass, or those in the given files and folders, in several mocha
 * processes, and stops the servers however the run ends. Starts only the servers that the files need.
 *
 * A file that is slow by nature has a name that ends in `.slow.test.ts`. It runs with `--all`, which also tries twelve
 * times as many cases of each property, or if its own name is given. `--unit` runs only the files that need no server,
 * no process and no socket. Options of the run come before files.
 *
 * The last line of the output is `N passed, N failed`. `test-results/rules.md` lists every rule that was checked, and
 * `test-results/cpu.md` the processor time by kind of process and by file.
 *
 * The run always ends: it names and kills a process that reports nothing for `--silence-s=S`, and kills everything
 * after `--limit-s=S`.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess, type RunningProcess } from '../stack/child-process.ts';
import { childEnvironment } from '../../config.ts';
import { createServices, GO_SETTINGS, MAX_TEST_PROCESSES } from '../../test/support/servers.ts';
import { waitUntil } from '../stack/wait-until.ts';
import { createCpuSampler, renderCpuUsage } from './cpu-usage.ts';
import { readTestNeeds, type Service, type TestNeeds } from './test-needs.ts';
import { descendantsOf, killTree, readProgress, readSilentProcesses } from './watch-tests.ts';

const SUMMARY = /^\d+ passed, \d+ failed(, \d+ skipped)?$/;
/** Enough to stop all processes that the running test has started. */
const STOP_GRACE_MS = 30_000;
/** Output can arrive a moment after the end of its process. */
const LAST_OUTPUT_MS = 2_000;
/** Several times the duration of a run on two cores. */
const RUN_LIMIT_S = 75 * 60;
/** Longer than any test or hook may take. */
const SILENCE_LIMIT_S = 12 * 60;
const CHECKS_PER_LIMIT = 20;
const CPU_SAMPLES_MS = 2_000;
const RUN_OPTION = /^--(all|unit|limit-s|silence-s)(?:=(.+))?$/;
const TEST_FOLDER = 'test';
const SLOW_TEST = '.slow.test.ts';
/** Tests wait for most of their time. With more jobs, tests would time out because the machine is slow. */
const MORE_JOBS_THAN_CORES = 4;
/** V8's options for the processes that run tests. */
const V8_OPTIONS = [
  // Room for new objects and for old ones, so that V8 collects less often.
  'min-semi-space-size=32',
  'max-semi-space-size=64',
  'initial-old-space-size=400',
  // Code that rests a while would be compiled again, and the interpreter is slower than the compiler that does not optimize.
  'no-flush-bytecode',
  'always-sparkplug',
  // Most code of a test runs too few times to repay its optimization, which would take a tenth of the processor time.
  Number.parseInt(process.versions.node, 10) < 22 ? 'interrupt-budget=1000000' : 'invocation-count-for-turbofan=24000',
];
/** Long files start first, so that no process is left with a long file while the others are idle. */
const LONG_TESTS = [
  'test/lab/drill/drill.',
  'test/operations/',
  'test/workflows/vendors/',
  'test/console/every-page',
  'test/source',
  'test/console/browser',
  'test/console/attacks',
  'test/bin/',
  'test/workflows/',
];
/** The number of other files that start between two files that mostly wait, so that no core is idle. */
const BUSY_FILES_PER_WAITING = 2;
/** The variables through which tests find the services of the run. */
const SERVICE_VARIABLES: Readonly<Record<Service, string>> = {
  database: 'GENWAY_TEST_DATABASE_URL',
  temporal: 'GENWAY_TEST_TEMPORAL_ADDRESS',
  workflowBundle: 'GENWAY_TEST_WORKFLOW_BUNDLE',
  programs: 'GENWAY_TEST_PROGRAMS',
};
const root = join(import.meta.dirname, '../..');
const mocha = join(root, 'node_modules/mocha/bin/mocha.js');
const resultsFolder = join(root, 'test-results');
const rulesPage = join(resultsFolder, 'rules.md');
const cpuPage = join(resultsFolder, 'cpu.md');

interface TestFile {
  readonly file: string;
  readonly needs: TestNeeds;
}

const progressFolder = mkdtempSync(join(tmpdir(), 'genway-progress-'));
process.once('exit', () => rmSync(progressFolder, { recursive: true, force: true }));
const services = createServices(console.log, endRun);
const cpu = createCpuSampler();
let child: RunningProcess | undefined;
let isEnding = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stopEarly());

let passed = false;
let lastLine = '';
try {
  const { files, omitted, options, isAll, limitS, silenceS } = parseArguments(process.argv.slice(2));
  setTimeout(() => endRun(`the run has not finished within ${limitS} s`), limitS * 1000).unref();
  setInterval(cpu.sample, CPU_SAMPLES_MS).unref();
  setInterval(() => endSilentProcesses(silenceS), (silenceS * 1000) / CHECKS_PER_LIMIT).unref();
  const environment = await startServices(new Set(files.flatMap(({ needs }) => [...needs.services])));
  const waits = files.some(({ needs }) => !needs.isUnit);
  passed = await runMocha(
    {
      ...GO_SETTINGS,
      ...environment,
      ...(isAll && { GENWAY_TEST_ALL: '1' }),
    },
    {
      // With one job, mocha would run the tests in its own process, and killing a hanging test would kill mocha.
      jobs: Math.max(2, Math.min(availableParallelism() + (waits ? MORE_JOBS_THAN_CORES : 0), MAX_TEST_PROCESSES)),
      args: [...noteOmitted(omitted), ...options, ...files.map(({ file }) => file)],
    },
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
} finally {
  cpu.sample();
  await services.stop();
  writeCpuUsage();
}
if (!SUMMARY.test(lastLine)) console.log('0 passed, 1 failed');
process.exit(passed ? 0 : 1);

async function stopEarly(): Promise<void> {
  await child?.stop(STOP_GRACE_MS);
  await services.stop();
  process.exit(130);
}

function writeCpuUsage(): void {
  mkdirSync(resultsFolder, { recursive: true });
  writeFileSync(cpuPage, renderCpuUsage(progressFolder, cpu.totals()));
}

/** Kills all processes of the run, so that it fails immediately. */
function endRun(reason: string): void {
  if (isEnding) return;
  isEnding = true;
  console.error(`${reason}; these processes run tests:`);
  for (const { pid, test, silentMs } of readProgress(progressFolder)) {
    console.error(`  ${pid}, for ${Math.round(silentMs / 1000)} s: ${test}`);
  }
  setTimeout(() => process.exit(1), STOP_GRACE_MS);
  for (const pid of descendantsOf(process.pid)) killTree(pid);
}

/** Mocha reports the file of a killed process as failed, and runs the remaining files in another process. */
function endSilentProcesses(silenceS: number): void {
  for (const { pid, test } of readSilentProcesses(progressFolder, silenceS * 1000)) {
    console.error(`process ${pid} hangs and is killed; it has reported nothing for ${silenceS} s since ${test}`);
    killTree(pid);
  }
}

/** Starts services. @returns the environment through which tests find them */
async function startServices(needed: ReadonlySet<Service>): Promise<NodeJS.ProcessEnv> {
  const started = [...needed].map(async (service) => [SERVICE_VARIABLES[service], await services[service]()]);
  const environment = { GENWAY_TEST_PROGRESS: progressFolder, ...Object.fromEntries(await Promise.all(started)) };
  return { ...childEnvironment({}), ...environment };
}

async function runMocha(
  env: NodeJS.ProcessEnv,
  { jobs, args }: { readonly jobs: number; readonly args: readonly string[] },
): Promise<boolean> {
  child = await startProcess({
    command: process.execPath,
    args: [
      mocha,
      '--parallel',
      `--jobs=${jobs}`,
      ...V8_OPTIONS.map((option) => `--node-option=${option}`),
      `--reporter-option=rules=${rulesPage}`,
      ...(process.stdout.isTTY ? ['--color'] : []),
      ...args,
    ],
    env,
    // Mocha forwards this signal to the processes that run the tests.
    stopSignal: 'SIGINT',
    output: (line) => {
      lastLine = line;
      console.log(line);
    },
  });
  const exit = await child.exited;
  await waitUntil(expectSummary, { timeoutMs: LAST_OUTPUT_MS });
  return exit === 0;
}

async function expectSummary(): Promise<void> {
  if (!SUMMARY.test(lastLine)) throw new Error('the run ended early, without a summary of its tests');
}

/** Options of the run come first, then files and folders; everything from the next option on goes to mocha. */
function parseArguments(given: readonly string[]) {
  const settings = new Map<string, string>();
  for (const word of given) {
    const [, name = '', value = ''] = RUN_OPTION.exec(word) ?? [];
    if (name === '') break;
    settings.set(name, value);
  }
  const args = given.slice(settings.size);
  const firstOption = args.findIndex((word) => word.startsWith('-'));
  const paths = firstOption === -1 ? args : args.slice(0, firstOption);
  const options = args.slice(paths.length);
  const late = options.find((word) => word.includes('/') && existsSync(word));
  if (late !== undefined) {
    throw new Error(
      `${late} comes after ${options[0]}, so the run would not be limited to it. Put options of the run first (--all, ` +
        `--unit, --limit-s=S, --silence-s=S), then files and folders, then options for mocha.`,
    );
  }
  const named = new Set((paths.length > 0 ? paths : [TEST_FOLDER]).flatMap(testFiles));
  const isAll = settings.has('all');
  const omitted = [...named].filter((file) => file.endsWith(SLOW_TEST) && !isAll && !paths.includes(file));
  const files = [...named]
    .filter((file) => !omitted.includes(file))
    .map((file) => ({ file, needs: readTestNeeds(file) }))
    .filter(({ needs }) => needs.isUnit || !settings.has('unit'));
  return {
    files: inOrder(files),
    omitted,
    isAll,
    options,
    limitS: Number(settings.get('limit-s') ?? RUN_LIMIT_S),
    silenceS: Number(settings.get('silence-s') ?? SILENCE_LIMIT_S),
  };
}

function testFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return files.flatMap((file) => (file.endsWith('.test.ts') ? [join(path, file)] : []));
}

/** What the reporter prints before the last line. */
function noteOmitted({ length }: readonly string[]): string[] {
  if (length === 0) return [];
  return [`--reporter-option=note=not run: ${length} slow files (*${SLOW_TEST}); npm test -- --all runs them`];
}

/** Puts long files first, and files that mostly wait between the others. */
function inOrder(files: readonly TestFile[]): readonly TestFile[] {
  const sorted = files.toSorted((one, other) => rank(one) - rank(other));
  const waiting = sorted.filter(waitsMostly);
  const busy = sorted.filter((file) => !waitsMostly(file));
  const mixed = waiting.flatMap((file) => [file, ...busy.splice(0, BUSY_FILES_PER_WAITING)]);
  return [...mixed, ...busy];
}

/** Files with Temporal or with programs wait for other processes. */
function waitsMostly({ needs }: TestFile): boolean {
  return needs.services.has('temporal') || needs.services.has('programs');
}

/** Long files come first, unit files last. */
function rank({ file, needs }: TestFile): number {
  const long = LONG_TESTS.findIndex((path) => file.startsWith(path));
  if (long !== -1) return long;
  return LONG_TESTS.length + (needs.isUnit ? 1 : 0);
}
