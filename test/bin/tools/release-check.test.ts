import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findChangelogProblem, findLicenceProblems, type LockedPackage } from '../../../bin/tools/release-check.ts';

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');

describe('the check of a release', () => {
  it('accepts the licence of every production package', () => {
    const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(read('package-lock.json'));
    expect(findLicenceProblems(packages)).to.deep.equal([]);
  });

  it('names production packages with another licence or none', () => {
    const packages = {
      '': {},
      'node_modules/a': { license: 'GPL-3.0-only' },
      'node_modules/a/node_modules/b': {},
      'node_modules/c': { license: 'AGPL-3.0-only', dev: true },
      'node_modules/busboy': {},
      'node_modules/d': { license: 'MIT' },
    };
    expect(findLicenceProblems(packages)).to.deep.equal(['a: GPL-3.0-only', 'b: no licence']);
  });

  const changelogs = [
    ['# Changelog\n\n## 1.2.0 - 2026-12-01\n\nIt is faster.\n\n## 1.1.0 - 2026-11-01\n\nOld.\n', null],
    ['# Changelog\n\n## 1.2.0 - 2026-12-01\n\nIt is faster.', null],
    ['# Changelog\n\n## 1.2.0\n\nIt is faster.\n', 'write "## 1.2.0 - YYYY-MM-DD" in CHANGELOG.md'],
    ['## 1.2.0 - 2026-12-01\n\n## 1.1.0 - 2026-11-01\n\nOld.\n', 'CHANGELOG.md does not say what is new in 1.2.0'],
    ['## 1.1.0 - 2026-11-01\n\nOld.\n', 'the newest version in CHANGELOG.md is 1.1.0 - 2026-11-01, not 1.2.0'],
    ['# Changelog\n', 'the newest version in CHANGELOG.md is missing, not 1.2.0'],
  ] as const;
  for (const [changelog, problem] of changelogs) {
    it(`reports ${problem ?? 'nothing'} about ${JSON.stringify(changelog)}`, () => {
      expect(findChangelogProblem(changelog, '1.2.0')).to.equal(problem);
    });
  }

  it('finds the version of package.json as the newest in the changelog', () => {
    const { version }: { version: string } = JSON.parse(read('package.json'));
    expect(read('CHANGELOG.md')).to.match(
      new RegExp(String.raw`^[^]*?\n## ${version.replaceAll('.', String.raw`\.`)}( |\n)`),
    );
  });
});
