import { readFile } from 'node:fs/promises';
import { expect } from 'chai';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>>;
}

const lock = JSON.parse(await readFile(new URL('../package-lock.json', import.meta.url), 'utf8')) as LockFile;

describe('package-lock.json', () => {
  it('contains the packages of every platform, so that npm ci works on each of them', () => {
    const missing = Object.entries(lock.packages).flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !isLocked(place, name)),
    );
    expect(missing).to.deep.equal([]);
  });
});

/** A package is in the folder of the one that needs it, or in a folder above. */
function isLocked(place: string, name: string): boolean {
  return `node_modules/${name}` in lock.packages || `${place}/node_modules/${name}` in lock.packages;
}
