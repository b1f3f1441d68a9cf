/**
 * Tests every operation of the API description with valid and invalid requests (https://schemathesis.io). Fails when
 * an answer does not match the description. Runs against a stack of its own, or against a running one.
 *
 * Usage: npm run schemathesis [options of `schemathesis run`…]
 *        npm run schemathesis -- --demo .genway/demo.json [options…]    against the stack that wrote that file
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../bin/stack/child-process.ts';
import { childEnvironment } from '../config.ts';
import { openAccount } from './stack/accounts.ts';
import { pythonWith } from './stack/packages.ts';
import { type Stack, startStack } from './stack/stack.ts';

const PACKAGE = 'schemathesis==4.32.5';
const CONFIGURATION = join(import.meta.dirname, 'schemathesis.toml');
/** Schemathesis runs until then, or until it has nothing new to test. */
const MAX_SECONDS = 240;
const FUNDS_USD = 1_000;

/** The fields of `demo.json` that are needed to call a stack. */
interface Demo {
  readonly base_url: string;
  readonly admin_token: string;
  readonly accounts: { readonly funded: { readonly api_key: string } };
}

/** The tested API. */
interface Tried {
  readonly apiUrl: string;
  readonly adminToken: string;
  readonly apiKey: string;
}

const [flag, demoFile = '', ...rest] = process.argv.slice(2);
const isGiven = flag === '--demo' && demoFile !== '';
const options = isGiven ? rest : process.argv.slice(2);
// An interrupted run stops Schemathesis.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const stack = isGiven ? null : await startStack({ processes: { api: 1, text: 1, worker: 1 } });
try {
  process.exitCode = await tryApi(stack ? await openIn(stack) : await readDemo(demoFile));
} finally {
  await stack?.stop();
}
console.log(process.exitCode === 0 ? 'schemathesis: no failures' : 'schemathesis: FAILED, see above');

async function openIn({ apiUrls: [apiUrl = ''], adminToken }: Stack): Promise<Tried> {
  const { apiKey } = await openAccount({ apiUrl, adminToken }, FUNDS_USD);
  return { apiUrl, adminToken, apiKey };
}

/** @param demo the file in which a stack records its addresses */
async function readDemo(demo: string): Promise<Tried> {
  const { base_url, admin_token, accounts }: Demo = JSON.parse(await readFile(demo, 'utf8'));
  return { apiUrl: base_url, adminToken: admin_token, apiKey: accounts.funded.api_key };
}

/** @returns the exit code of Schemathesis; 1 if a signal ended it */
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
  const command = join(await pythonWith([PACKAGE]), 'schemathesis');
  const exit = await runCommand({ command, args, env, output: console.log });
  return typeof exit === 'number' ? exit : 1;
}
