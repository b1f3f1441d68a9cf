/**
 * Tries every operation of the API description with good, odd and wrong requests (https://schemathesis.io), and fails when an
 * answer is not what the description says. Runs against a stack of its own, or against one that runs already.
 *
 * Usage: npm run schemathesis [options of `schemathesis run`…]
 *        npm run schemathesis -- --demo .genway/demo.json [options…]    against the stack that wrote that file
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type RunningProcess, startProcess } from '../bin/stack/child-process.ts';
import { findFreePort } from '../bin/stack/ports.ts';
import { waitUntil } from '../bin/stack/wait-until.ts';
import { childEnvironment } from '../config.ts';

const VERSION = '4.32.5';
const PYTHON = join(homedir(), '.cache/genway/schemathesis');
const CONFIGURATION = join(import.meta.dirname, 'schemathesis.toml');
const ROOT = resolve(import.meta.dirname, '..');
const READY_TIMEOUT_MS = 10 * 60_000;
const STOP_GRACE_MS = 30_000;
/** Schemathesis goes on until then, or until it has nothing new to try. */
const MAX_SECONDS = 240;

/** Of what a stack tells about itself, what is needed to call it. */
interface Stack {
  readonly base_url: string;
  readonly admin_token: string;
  readonly accounts: { readonly funded: { readonly api_key: string } };
}

const [flag, demoFile, ...rest] = process.argv.slice(2);
const isGiven = flag === '--demo' && demoFile !== undefined;
const options = isGiven ? rest : process.argv.slice(2);
const cleanUps: (() => Promise<unknown>)[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void cleanUp().then(() => process.exit(130)));

try {
  await installSchemathesis();
  process.exitCode = await tryApi(await readStack(isGiven ? demoFile : await startStack()));
} finally {
  await cleanUp();
}
console.log(process.exitCode === 0 ? 'schemathesis: no failures' : 'schemathesis: FAILED, see above');

async function cleanUp(): Promise<void> {
  for (const step of cleanUps.splice(0).toReversed()) await step();
}

/** In a virtual environment of its own, once. */
async function installSchemathesis(): Promise<void> {
  const python = join(PYTHON, 'bin/python');
  const isInstalled = `import importlib.metadata as m; assert m.version("schemathesis") == "${VERSION}"`;
  if ((await run(python, ['-c', isInstalled], () => {}).catch(() => 1)) === 0) return;
  console.log(`installing Schemathesis ${VERSION} under ${PYTHON}`);
  await expectSuccess('python3', ['-m', 'venv', '--clear', PYTHON]);
  await expectSuccess(python, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `schemathesis==${VERSION}`,
  ]);
}

async function expectSuccess(command: string, args: readonly string[]): Promise<void> {
  const exit = await run(command, args);
  if (exit !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${exit}; see above`);
}

/** @returns the exit code; 1 for a process that a signal ended */
async function run(
  command: string,
  args: readonly string[],
  output = console.log,
  env = childEnvironment({}),
): Promise<number> {
  const child = await startProcess({ command, args, env, output });
  const stop = (): Promise<void> => child.stop(STOP_GRACE_MS);
  cleanUps.push(stop);
  const exit = await child.exited;
  cleanUps.splice(cleanUps.indexOf(stop), 1);
  return typeof exit === 'number' ? exit : 1;
}

/** Starts everything on free ports, with an empty state. @returns the file in which it tells its addresses and keys */
async function startStack(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'genway-schemathesis-'));
  cleanUps.push(() => rm(home, { recursive: true, force: true }));
  const log: string[] = [];
  const stack = await startProcess({
    command: process.execPath,
    args: [join(ROOT, 'bin/bootstrap.mjs'), 'start'],
    env: await stackEnvironment(home),
    stopSignal: 'SIGINT',
    output: (line) => void log.push(line),
  });
  cleanUps.push(() => stack.stop(STOP_GRACE_MS));
  const demo = join(home, 'demo.json');
  await ready(stack, demo).catch((error: unknown) => {
    console.error(log.join('\n'));
    throw error;
  });
  return demo;
}

async function stackEnvironment(home: string): Promise<NodeJS.ProcessEnv> {
  const [api, text, simulator, postgres, temporal, temporalUi] = await Promise.all(
    Array.from({ length: 6 }, async () => String(await findFreePort())),
  );
  return childEnvironment({
    GENWAY_HOME: home,
    GENWAY_API_PORT: api ?? '',
    GENWAY_TEXT_PORT: text ?? '',
    GENWAY_SIMULATOR_PORT: simulator ?? '',
    GENWAY_POSTGRES_PORT: postgres ?? '',
    TEMPORAL_PORT: temporal ?? '',
    TEMPORAL_UI_PORT: temporalUi ?? '',
    GENWAY_ALLOW_PRIVATE_ADDRESSES: 'true',
    GENWAY_RATE_LIMIT_RPM: '1000000',
    GENWAY_MAX_CONCURRENT_TASKS: '100000',
  });
}

async function ready(stack: RunningProcess, demo: string): Promise<void> {
  const ended = stack.exited.then((exit) =>
    Promise.reject(new Error(`the stack ended with ${exit} before it was ready`)),
  );
  const written = waitUntil(() => readFile(demo), { timeoutMs: READY_TIMEOUT_MS });
  await Promise.race([ended, written]);
}

async function readStack(demo: string): Promise<Stack> {
  return JSON.parse(await readFile(demo, 'utf8'));
}

/** @returns the exit code of Schemathesis */
async function tryApi({ base_url, admin_token, accounts }: Stack): Promise<number> {
  const env = { ...childEnvironment({ GENWAY_ADMIN_TOKEN: admin_token }), GENWAY_API_KEY: accounts.funded.api_key };
  const args = [
    '--config-file',
    CONFIGURATION,
    'run',
    `${base_url}/openapi.json`,
    `--max-time=${MAX_SECONDS}`,
    ...options,
  ];
  return run(join(PYTHON, 'bin/schemathesis'), args, console.log, env);
}
