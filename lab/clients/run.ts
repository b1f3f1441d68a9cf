/**
 * Generates a client in Python and one in TypeScript from the API description of a stack of its own, and uploads a file,
 * creates a video and reads its task with each: what generated clients need of the description stays in it.
 *
 * Usage: npm run clients
 */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { startProcess } from '../../bin/stack/child-process.ts';
import { childEnvironment } from '../../config.ts';
import { openAccount } from '../stack/accounts.ts';
import { startStack } from '../stack/stack.ts';

const PYTHON_PACKAGES = ['openapi-python-client==0.29.1', 'ruff==0.17.6'];
const TYPESCRIPT_PACKAGES = ['@hey-api/openapi-ts@0.90.0', 'typescript@5.9.3', '@types/node@20.19.0'];
/** Where the generators are installed, once. */
const TOOLS = join(homedir(), '.cache/genway/clients');
const FUNDS_USD = 1_000;
const PROGRAMS = import.meta.dirname;
const ROOT = resolve(PROGRAMS, '../..');
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The facts about a stack that a client needs. */
type ClientSettings = Readonly<Record<'BASE_URL' | 'API_KEY' | 'PICTURE', string>>;

const folder = await mkdtemp(join(tmpdir(), 'genway-clients-'));
const stack = await startStack({ processes: { api: 1, text: 1, worker: 1 } });
try {
  const [apiUrl = ''] = stack.apiUrls;
  const description = join(folder, 'openapi.json');
  await writeFile(description, await (await fetch(`${apiUrl}/openapi.json`)).text());
  const picture = join(folder, 'picture.png');
  await writeFile(picture, Buffer.from(PIXEL, 'base64'));
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, FUNDS_USD);
  const settings = { BASE_URL: apiUrl, API_KEY: apiKey, PICTURE: picture };
  await tryPython(description, settings);
  await tryTypeScript(description, settings);
  console.log('clients: 2 passed, 0 failed');
} finally {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}

async function tryPython(description: string, settings: ClientSettings): Promise<void> {
  const environment = join(TOOLS, 'python');
  const bin = join(environment, 'bin');
  await run('python3', ['-m', 'venv', environment]);
  await run(join(bin, 'python'), [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...PYTHON_PACKAGES,
  ]);
  const output = join(folder, 'python');
  // The generator looks for its formatter there.
  const path = { PATH: [bin, childEnvironment({})['PATH']].join(delimiter) };
  const generate = ['generate', '--path', description, '--output-path', output];
  await run(join(bin, 'openapi-python-client'), generate, path);
  await run(join(bin, 'python'), [join(PROGRAMS, 'program.py')], { ...settings, PYTHONPATH: output });
}

async function tryTypeScript(description: string, settings: ClientSettings): Promise<void> {
  const tools = join(TOOLS, 'typescript');
  await mkdir(tools, { recursive: true });
  await run('npm', ['install', '--silent', '--no-save', '--prefix', tools, ...TYPESCRIPT_PACKAGES]);
  const output = join(folder, 'typescript');
  const program = join(output, 'program.ts');
  await mkdir(output);
  await copyFile(join(PROGRAMS, 'program.ts.txt'), program);
  const bin = join(tools, 'node_modules/.bin');
  await run(join(bin, 'openapi-ts'), ['--input', description, '--output', join(output, 'client'), '--silent']);
  const types = ['--types', 'node', '--typeRoots', join(tools, 'node_modules/@types')];
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022', '--skipLibCheck'];
  await run(join(bin, 'tsc'), ['--noEmit', '--strict', ...modules, ...types, program]);
  await run(process.execPath, ['--import', join(ROOT, 'node_modules/tsx/dist/loader.mjs'), program], settings);
}

/** @throws Error when the command fails; it has said why */
async function run(
  command: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = await startProcess({
    command,
    args,
    env: { ...childEnvironment({}), ...settings },
    output: console.log,
  });
  const exit = await child.exited;
  if (exit !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${exit}; see above`);
}
