import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { type Import, findTransitiveImports, importsOf } from '../bin/tools/imports.ts';

const root = join(import.meta.dirname, '..');

interface Layer {
  /** The folders it may import besides itself. */
  readonly imports: readonly string[];
  /** The folders of which it may import types only. */
  readonly types?: readonly string[];
  /** Pure layers import neither modules of Node nor packages, apart from pure ones. */
  readonly pure?: true;
  readonly purePackages?: readonly string[];
}

const adapters = ['db', 'providers', 'storage'];

const LAYERS: Readonly<Record<string, Layer>> = {
  domain: { imports: [], pure: true, purePackages: ['node:crypto'] },
  text: { imports: ['domain'], pure: true, purePackages: ['tokenx', 'node:buffer', 'node:crypto'] },
  catalogue: { imports: ['domain'] },
  db: { imports: ['domain'] },
  providers: { imports: ['catalogue', 'domain', 'text'] },
  storage: { imports: ['domain'] },
  telemetry: { imports: ['domain', 'db'] },
  activities: { imports: ['domain', 'services', ...adapters], types: ['telemetry'] },
  workflows: { imports: ['domain'], types: ['activities'] },
  services: { imports: ['domain', 'text', 'catalogue', ...adapters], types: ['config.ts', 'telemetry', 'workflows'] },
  api: { imports: ['domain', 'text', 'catalogue', 'telemetry', 'services', ...adapters] },
  console: { imports: ['api', 'domain', 'db', 'services'], types: ['catalogue'] },
  clients: { imports: [] },
  simulator: { imports: ['domain'] },
  'lab/stack': { imports: ['bin', 'config.ts', 'simulator'] },
  'lab/drill': {
    imports: ['lab/stack', 'bin', 'catalogue', 'db', 'domain', 'providers'],
  },
};

function sourceFiles(folder: string): string[] {
  const rooms = Object.keys(LAYERS).filter((name) => name.startsWith(`${folder}/`));
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|mts|mjs|js)$/.test(file))
    .map((file) => join(folder, file))
    .filter((file) => !rooms.some((room) => file.startsWith(`${room}/`)));
}

/** The layer, another top folder, or the file in the root, that an import leads to; undefined for packages. */
function targetOf(statement: Import): string | undefined {
  const { target } = statement;
  if (target === undefined) return undefined;
  const room = Object.keys(LAYERS).find((name) => name.includes('/') && target.startsWith(`${name}/`));
  return room ?? target.split('/')[0];
}

function show({ file, from }: Import): string {
  return `${file} imports ${from}`;
}

/** The files of an import cycle through this file, type imports included; null if there is none. */
function findCircle(files: readonly string[]): string[] | null {
  const done = new Set<string>();
  const path: string[] = [];

  function visit(file: string): string[] | null {
    if (done.has(file)) return null;
    const start = path.indexOf(file);
    if (start >= 0) return [...path.slice(start), file];
    path.push(file);
    for (const target of importsOf(file).flatMap((statement) => statement.target ?? [])) {
      const circle = /\.(ts|tsx|mts|mjs|js)$/.test(target) ? visit(target) : null;
      if (circle) return circle;
    }
    path.pop();
    done.add(file);
    return null;
  }

  for (const file of files) {
    const circle = visit(file);
    if (circle) return circle;
  }
  return null;
}

describe('the direction of imports', () => {
  for (const [name, { imports, types = [], pure, purePackages = [] }] of Object.entries(LAYERS)) {
    it(`leads from ${name} to ${[...imports, ...types.map((type) => `types of ${type}`)].join(', ') || 'nothing'}`, () => {
      const found = sourceFiles(name).flatMap(importsOf);
      const offenders = found.filter((statement) => {
        const target = targetOf(statement);
        if (target === undefined) return pure === true && !purePackages.includes(statement.from);
        return target !== name && !imports.includes(target) && !(statement.isTypeOnly && types.includes(target));
      });
      expect(offenders.map(show)).to.deep.equal([]);
      const isUsed = (target: string, isTypeOnly: boolean): boolean =>
        found.some((statement) => targetOf(statement) === target && (isTypeOnly || !statement.isTypeOnly));
      const unused = [...imports.filter((one) => !isUsed(one, false)), ...types.filter((one) => !isUsed(one, true))];
      expect(unused, 'permissions that nobody uses').to.deep.equal([]);
    });
  }

  it('keeps Node’s modules out of workflows, which cannot load them', () => {
    const offenders = sourceFiles('workflows')
      .flatMap(importsOf)
      .filter(({ from }) => from.startsWith('node:'));
    expect(offenders.map(show)).to.deep.equal([]);
  });

  it('keeps the lab and the tests out of the product', () => {
    const product = Object.keys(LAYERS).filter((name) => !name.startsWith('lab/'));
    const offenders = [...product, 'bin']
      .flatMap(sourceFiles)
      .filter((file) => !file.startsWith('bin/tools/'))
      .flatMap(importsOf)
      .filter((statement) => /^(lab|test)\b/.test(targetOf(statement) ?? ''));
    expect(offenders.map(show)).to.deep.equal([]);
  });

  it('lets the console share the HTTP of the api, but no routes', () => {
    const shared = sourceFiles('console')
      .flatMap(importsOf)
      .filter((statement) => targetOf(statement) === 'api')
      .map(({ target, isTypeOnly }) => `${isTypeOnly ? 'type ' : ''}${target}`);
    expect([...new Set(shared)].toSorted()).to.deep.equal([
      'api/docs-address.ts',
      'api/middlewares/json-body.ts',
      'api/receive-audio.ts',
      'api/receive-upload.ts',
      'type api/openapi/operation.ts',
      'type api/services.ts',
      'type api/state.ts',
    ]);
  });

  it('keeps the api out of the worker, but for the HTTP server', () => {
    const reachedFrom = (file: string) =>
      findTransitiveImports(file, ({ isTypeOnly }) => !isTypeOnly).flatMap(({ target }) => target ?? []);
    const server = ['api/http-server.ts', ...reachedFrom('api/http-server.ts')];
    const reached = reachedFrom('bin/worker.ts');
    expect(reached.filter((file) => file.startsWith('api/') && !server.includes(file))).to.deep.equal([]);
    expect(reached).to.include('domain/money.ts');
  });

  it('loads the libraries of clouds at the first request that needs them', () => {
    const libraries = [
      '@aws-sdk/credential-providers',
      '@smithy/core/event-streams',
      '@smithy/signature-v4',
      'google-auth-library',
    ];
    const files = ['bin/api.ts', 'bin/text.ts', 'bin/worker.ts'];
    const loaded = files.flatMap((file) =>
      findTransitiveImports(file, ({ isTypeOnly }) => !isTypeOnly).filter(({ from }) => libraries.includes(from)),
    );
    expect(loaded.filter(({ isDynamic }) => !isDynamic).map(show)).to.deep.equal([]);
    expect([...new Set(loaded.map(({ from }) => from))].toSorted()).to.deep.equal(libraries);
  });

  it('allows no cycles, not even through types', () => {
    const circle = findCircle([...Object.keys(LAYERS), 'lab', 'bin', 'test'].flatMap(sourceFiles));
    expect(circle ?? []).to.deep.equal([]);
  });

  it('covers imports in every form', () => {
    const found = importsOf(relative(root, import.meta.filename)).map(({ from }) => from);
    expect(found).to.deep.equal(['node:fs', 'node:path', 'chai', '../bin/tools/imports.ts']);
    expect(importsOf('bin/stack/temporal-server.ts').map(({ from }) => from)).to.include('./find-temporal-server.ts');
    expect(importsOf('bin/bootstrap.mjs').map(({ from }) => from)).to.include('tsx/esm/api');
  });
});

describe('the environment', () => {
  it('serves only config.ts, programs that run before it and the packages for clients', () => {
    const offenders = [...Object.keys(LAYERS), 'bin']
      .flatMap(sourceFiles)
      .filter((file) => file !== 'bin/bootstrap.mjs' && !file.startsWith('clients/'))
      .filter((file) => readFileSync(join(root, file), 'utf8').includes('process.env'));
    expect(offenders).to.deep.equal([]);
  });
});
