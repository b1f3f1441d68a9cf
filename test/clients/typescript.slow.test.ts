import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { run } from '../../lab/stack/packages.ts';
import { pngFile } from '../support/media-files.ts';
import { useTestStack } from '../support/stack.ts';
import { useTestFolder } from '../support/started.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGE = join(ROOT, 'clients/typescript');

describe('clients/typescript, as its users get it', () => {
  const stack = useTestStack();
  const folder = useTestFolder();
  let apiKey = '';

  before(async () => {
    await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
  });

  it('runs the examples of its README, installed from its archive into an empty folder', async () => {
    const source = join(folder, 'source/clients/typescript');
    await mkdir(source, { recursive: true });
    await cp(PACKAGE, source, { recursive: true });
    await cp(join(ROOT, 'tsconfig.json'), join(folder, 'source/tsconfig.json'));
    const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '--typeRoots', join(ROOT, 'node_modules/@types')];
    await run(process.execPath, [...tsc, '-p', source]);
    const packed = await run('npm', ['pack', '--silent', '--ignore-scripts', source, '--pack-destination', folder]);
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await run('npm', ['install', '--silent', '--prefix', folder, join(folder, packed.trim())]);
    await writeFile(join(folder, 'picture.png'), pngFile({ width: 64, height: 64 }));
    const examples = (await readFile(join(PACKAGE, 'README.md'), 'utf8')).matchAll(/^```ts\n(.*?)^```/gms);
    const files = await Promise.all(
      Array.from(examples, async ([, code = ''], index) => {
        const file = join(folder, `example-${index}.ts`);
        await writeFile(file, code);
        return file;
      }),
    );
    const strict = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
    ];
    await run(process.execPath, [...tsc, ...strict, ...files]);
    const env = { GENWAY_API_KEY: apiKey, GENWAY_BASE_URL: stack.baseUrl };
    const loader = pathToFileURL(join(ROOT, 'node_modules/tsx/dist/loader.mjs')).href;
    const all = join(folder, 'all.mjs');
    await writeFile(all, files.map((file) => `import '${file}';`).join('\n'));
    const printed = await run('sh', ['-c', `cd "${folder}" && exec node --import ${loader} ${all}`], env);
    expect(printed).to.include('.mp4').and.include('processing_failed').and.include('hello');
  });
});
