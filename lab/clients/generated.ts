/** Clients in Python and TypeScript, generated from the API description. */
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { nodeWith, pythonWith, run, type Settings } from '../stack/packages.ts';
import { PROGRAMS, pathWith } from './tools.ts';

/**
 * Generates a client, and runs a program with it that requests text in three formats, uploads a file, creates a video and
 * reads its task.
 *
 * @param description the file of the API description
 * @param folder for the generated files
 * @returns what the program prints
 * @throws Error on failure
 */
type Attempt = (description: string, folder: string, settings: Settings) => Promise<string>;

/** Generators that need no Java, by their names. */
export const GENERATORS: Readonly<Record<string, Attempt>> = {
  'openapi-python-client': tryPythonClient,
  'openapi-typescript': tryTypes,
};

/** Generators that need Java, by their names. */
export const GENERATORS_WITH_JAVA: Readonly<Record<string, Attempt>> = {
  'OpenAPI Generator, python': tryOpenApiGeneratorPython,
  'OpenAPI Generator, typescript-fetch': tryOpenApiGeneratorFetch,
};

export const PYTHON_PACKAGES = ['openapi-python-client==0.29.1', 'ruff==0.17.6'];
export const TYPESCRIPT_PACKAGES = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
  '@types/node@20.19.0',
];
/** The generator, what its clients in Python import, and the check of their types. */
export const OPENAPI_GENERATOR_PACKAGES = [
  'openapi-generator-cli==7.26.0',
  'pydantic==2.14.4',
  'python-dateutil==2.9.0',
  'urllib3==2.8.0',
  'mypy==2.4.1',
  'types-python-dateutil==2.9.0.20261116',
];
const ROOT = resolve(PROGRAMS, '../../..');

/** Writes the description of a running api to a file. */
export async function saveDescription(apiUrl: string, file: string): Promise<void> {
  await writeFile(file, await (await fetch(`${apiUrl}/openapi.json`)).text());
}

async function tryPythonClient(description: string, folder: string, settings: Settings): Promise<string> {
  const bin = await pythonWith(PYTHON_PACKAGES);
  const output = join(folder, 'openapi-python-client');
  // The generator looks for its formatter there.
  const path = { PATH: pathWith(bin) };
  await run(join(bin, 'openapi-python-client'), ['generate', '--path', description, '--output-path', output], path);
  return run(join(bin, 'python'), [join(PROGRAMS, 'generated.py')], { ...settings, PYTHONPATH: output });
}

function tryTypes(description: string, folder: string, settings: Settings): Promise<string> {
  return runTypeScript('generated.ts.txt', folder, settings, (output, bin) =>
    run(join(bin, 'openapi-typescript'), [description, '--output', join(output, 'schema.ts')]),
  );
}

async function tryOpenApiGeneratorPython(description: string, folder: string, settings: Settings): Promise<string> {
  const output = join(folder, 'openapi-generator');
  // For webhooks, the generator writes a module whose parameters have no types, which is not Python.
  const described: object = JSON.parse(await readFile(description, 'utf8'));
  const input = join(folder, 'without-webhooks.json');
  await writeFile(input, JSON.stringify({ ...described, webhooks: undefined }));
  const bin = await runOpenApiGenerator(input, output, ['-g', 'python', '--package-name', 'genway_client']);
  // Methods of a union within a union return more than they declare.
  const strict = ['--config-file', join(output, 'pyproject.toml'), '--disable-error-code', 'return-value'];
  await run(join(bin, 'mypy'), [...strict, '--disable-error-code', 'arg-type', join(output, 'genway_client')]);
  return run(join(bin, 'python'), [join(PROGRAMS, 'openapi_generator.py')], { ...settings, PYTHONPATH: output });
}

function tryOpenApiGeneratorFetch(description: string, folder: string, settings: Settings): Promise<string> {
  return runTypeScript('openapi-generator.ts.txt', folder, settings, (output) =>
    runOpenApiGenerator(description, join(output, 'client'), [
      '-g',
      'typescript-fetch',
      // The generator's checks of a union within a union call functions that do not exist. Without checks, it renames no
      // fields of bodies, and has to be told so.
      '--additional-properties=withoutRuntimeChecks=true,modelPropertyNaming=original,importFileExtension=.ts',
      // The generator omits types of forms by default, and imports them.
      '--global-property=skipFormModel=false',
    ]),
  );
}

/** @returns the folder of the programs beside the generator */
async function runOpenApiGenerator(description: string, output: string, args: readonly string[]): Promise<string> {
  const bin = await pythonWith(OPENAPI_GENERATOR_PACKAGES);
  const command = ['generate', '-i', description, '-o', output, ...args];
  await run(join(bin, 'openapi-generator-cli'), command, { PATH: pathWith(bin) });
  return bin;
}

/** Runs a program beside the files that `generate` writes, after a strict check of its types. */
async function runTypeScript(
  source: string,
  folder: string,
  settings: Settings,
  generate: (output: string, bin: string) => Promise<unknown>,
): Promise<string> {
  const tools = await nodeWith(TYPESCRIPT_PACKAGES);
  // Node looks for packages beside the program.
  const output = join(tools, basename(folder));
  const program = join(output, 'program.ts');
  await mkdir(output);
  try {
    await writeFile(join(output, 'package.json'), '{"type": "module"}');
    await copyFile(join(PROGRAMS, source), program);
    const bin = join(tools, 'node_modules/.bin');
    await generate(output, bin);
    const modules = ['--module', 'nodenext', '--target', 'es2023', '--allowImportingTsExtensions', '--skipLibCheck'];
    await run(join(bin, 'tsc'), ['--noEmit', '--strict', ...modules, '--types', 'node', program]);
    return await run(process.execPath, ['--import', join(ROOT, 'node_modules/tsx/dist/loader.mjs'), program], settings);
  } finally {
    await rm(output, { recursive: true });
  }
}
