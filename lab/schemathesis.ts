/**
 * Tries every operation of the API description with good, odd and wrong requests (https://schemathesis.io), and fails when an
 * answer is not what the description says. Runs against a stack of its own, or against one that runs already.
 *
 * Usage: npm run schemathesis [options of `schemathesis run`…]
 *        npm run schemathesis -- --demo .genway/demo.json [options…]    against the stack that wrote that file
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '../bin/stack/child-process.ts';
import { childEnvironment } from '../config.ts';
import { openAccount } from './stack/accounts.ts';
import { startStack } from './stack/stack.ts';

const VERSION = '4.32.5';
const PYTHON = join(homedir(), '.cache/genway/schemathesis');
const CONFIGURATION = join(import.meta.dirname, 'schemathesis.toml');
/** Schemathesis runs until then, or until it has nothing new to try. */
const MAX_SECONDS = 240;
const STOP_GRACE_MS = 30_000;
const FUNDS_USD = 1_000;

/** The fields of `demo.json` that are needed to call a stack. */
interface Demo {
  readonly base_url: string;
  readonly admin_token: string;
  readonly accounts: { readonly funded: { readonly api_key: string } };
}

/** The API that is tried. */
interface Tried {
  readonly apiUrl: string;
  readonly adminToken: string;
  readonly apiKey: string;
}

const [flag, demoFile, ...rest] = process.argv.slice(2);
const isGiven = flag === '--demo' && demoFile !== undefined;
const options = isGiven ? rest : process.argv.slice(2);
const cleanUps: (() => Promise<unknown>)[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void cleanUp().then(() => process.exit(130)));

try {
  await installSchemathesis();
  process.exitCode = await tryApi(isGiven ? await readDemo(demoFile) : await startOwn());
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

async function startOwn(): Promise<Tried> {
  const stack = await startStack({ processes: { api: 1, text: 1, worker: 1 } });
  cleanUps.push(() => stack.stop());
  const { adminToken } = stack;
  const [apiUrl = ''] = stack.apiUrls;
  const { apiKey } = await openAccount({ apiUrl, adminToken }, FUNDS_USD);
  return { apiUrl, adminToken, apiKey };
}

/** @param demo the file in which a stack says how it is reached */
async function readDemo(demo: string): Promise<Tried> {
  const { base_url, admin_token, accounts }: Demo = JSON.parse(await readFile(demo, 'utf8'));
  return { apiUrl: base_url, adminToken: admin_token, apiKey: accounts.funded.api_key };
}

/** @returns the exit code of Schemathesis */
async function tryApi({ apiUrl, adminToken, apiKey }: Tried): Promise<number> {
  const env = { ...childEnvironment({ GENWAY_ADMIN_TOKEN: adminToken }), GENWAY_API_KEY: apiKey };
  const args = [
    '--config-file',
    CONFIGURATION,
    'run',
    `${apiUrl}/openapi.json`,
    `--max-time=${MAX_SECONDS}`,
    ...options,
  ];
  return run(join(PYTHON, 'bin/schemathesis'), args, console.log, env);
}
