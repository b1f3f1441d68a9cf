/** Clients in Python and TypeScript, generated from the API description. */
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { nodeWith, pythonWith, run, type Settings } from '../stack/packages.ts';
import { PROGRAMS, pathWith } from './tools.ts';

export const PYTHON_PACKAGES = ['openapi-python-client==0.29.1', 'ruff==0.17.6'];
export const TYPESCRIPT_PACKAGES = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
  '@types/node@20.19.0',
];
const ROOT = resolve(PROGRAMS, '../../..');

/** Writes the description of a running api to a file. */
export async function saveDescription(apiUrl: string, file: string): Promise<void> {
  await writeFile(file, await (await fetch(`${apiUrl}/openapi.json`)).text());
}

/** Requests text in three formats, uploads a file, creates a video and reads its task. @throws Error on failure */
export async function tryGeneratedPython(description: string, folder: string, settings: Settings): Promise<string> {
  const bin = await pythonWith(PYTHON_PACKAGES);
  const output = join(folder, 'python');
  // The generator looks for its formatter there.
  const path = { PATH: pathWith(bin) };
  await run(join(bin, 'openapi-python-client'), ['generate', '--path', description, '--output-path', output], path);
  return run(join(bin, 'python'), [join(PROGRAMS, 'generated.py')], { ...settings, PYTHONPATH: output });
}

/** The same with strict types. */
export async function tryGeneratedTypeScript(description: string, folder: string, settings: Settings): Promise<string> {
  const tools = await nodeWith(TYPESCRIPT_PACKAGES);
  // Node looks for packages beside the program.
  const output = join(tools, basename(folder));
  const program = join(output, 'program.ts');
  await mkdir(output);
  try {
    await writeFile(join(output, 'package.json'), '{"type": "module"}');
    await copyFile(join(PROGRAMS, 'generated.ts.txt'), program);
    const bin = join(tools, 'node_modules/.bin');
    await run(join(bin, 'openapi-typescript'), [description, '--output', join(output, 'schema.ts')]);
    const modules = ['--module', 'nodenext', '--target', 'es2023', '--allowImportingTsExtensions', '--skipLibCheck'];
    await run(join(bin, 'tsc'), ['--noEmit', '--strict', ...modules, '--types', 'node', program]);
    return await run(process.execPath, ['--import', join(ROOT, 'node_modules/tsx/dist/loader.mjs'), program], settings);
  } finally {
    await rm(output, { recursive: true });
  }
}
