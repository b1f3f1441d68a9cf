/**
 * Checks that the working tree can be released as the version in package.json. Prints a line for each check; the exit
 * code is 0 if all passed.
 *
 * Usage: node --import tsx bin/tools/release-check.ts [--no-tests]
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../config.ts';
import { runCommand } from '../stack/child-process.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): Promise<string> => readFile(join(ROOT, file), 'utf8');

/** Licences of dependencies that allow Genway to be passed on, at most with a notice. */
const LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'Apache-2.0 AND MIT',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  // Fonts with this licence may be passed on with a program, but not sold by themselves.
  'OFL-1.1',
  'PSF-2.0',
  'Unlicense',
]);
/** Packages whose package.json names no licence, with the licence in their file LICENSE. */
const UNNAMED: ReadonlyMap<string, string> = new Map([
  ['busboy', 'MIT'],
  ['streamsearch', 'MIT'],
  ['unionfs', 'Unlicense'],
]);

export interface LockedPackage {
  readonly license?: string;
  readonly dev?: boolean;
}

/** Finds the production packages of a lock file whose licence is unknown or not permitted. */
export function findLicenceProblems(packages: Readonly<Record<string, LockedPackage>>): readonly string[] {
  return Object.entries(packages).flatMap(([place, { license, dev = false }]) => {
    const name = place.split('node_modules/').at(-1) ?? '';
    const known = license ?? UNNAMED.get(name);
    if (place === '' || dev || (known !== undefined && LICENCES.has(known))) return [];
    return [`${name}: ${known ?? 'no licence'}`];
  });
}

/** Checks that the version is the newest in the changelog, with a date and content. @returns the problem, or null */
export function findChangelogProblem(changelog: string, version: string): string | null {
  const [, newest = '', content = ''] = /^## (.*)\n([^]*?)(?=^## |$(?![^]))/m.exec(changelog) ?? [];
  const [named, date] = newest.split(' - ');
  if (named !== version) return `the newest version in CHANGELOG.md is ${newest || 'missing'}, not ${version}`;
  if (date === undefined || !/^\d{4}-\d\d-\d\d$/.test(date))
    return `write "## ${version} - YYYY-MM-DD" in CHANGELOG.md`;
  return content.trim() === '' ? `CHANGELOG.md does not say what is new in ${version}` : null;
}

/** Each check resolves with a problem, or null. */
const CHECKS: Readonly<Record<string, () => Promise<string | null>>> = {
  'the tree is clean': async () => {
    const { stdout } = await run('git', ['status', '--porcelain']);
    return stdout === '' ? null : `commit or remove:\n${stdout.trimEnd()}`;
  },
  'the changelog has the version': async () =>
    findChangelogProblem(await read('CHANGELOG.md'), (await readPackage()).version),
  'the tag of the version is free': async () => {
    const tag = `v${(await readPackage()).version}`;
    const { stdout } = await run('git', ['tag', '--list', tag]);
    return stdout === '' ? null : `the tag ${tag} exists: raise the version`;
  },
  'the lock file is that of package.json': async () => {
    const [{ version }, lock] = [await readPackage(), await readLock()];
    if (lock.version !== version) return `package-lock.json has the version ${lock.version}: run npm install`;
    return problemOf('npm', ['ls', '--package-lock-only', '--all']);
  },
  'the licences of production packages are permitted': async () => {
    const problems = findLicenceProblems((await readLock()).packages);
    return problems.length === 0 ? null : problems.join('\n');
  },
  'the list of production packages can be made': () =>
    problemOf('npm', ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx']),
  'the image, the compose file and the chart have what they need': () =>
    testsFail('test/dockerfile.test.ts', 'test/compose.test.ts', 'test/deploy', 'test/lock-file.test.ts'),
};

async function readPackage(): Promise<{ readonly version: string }> {
  return JSON.parse(await read('package.json'));
}

async function readLock(): Promise<{
  readonly version: string;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}> {
  return JSON.parse(await read('package-lock.json'));
}

/** The last lines of output if the command fails; null if it succeeds. */
async function problemOf(command: string, args: readonly string[]): Promise<string | null> {
  const lines: string[] = [];
  const output = (line: string): void => void (lines.length < 10_000 && lines.push(line));
  const exit = await runCommand({ command, args, env: childEnvironment({}), output });
  return exit === 0 ? null : `${command} ${args.join(' ')} failed:\n${lines.slice(-20).join('\n')}`;
}

function testsFail(...args: readonly string[]): Promise<string | null> {
  return problemOf('npm', ['test', '--', ...args]);
}

async function checkRelease(withTests: boolean): Promise<boolean> {
  process.chdir(ROOT);
  const checks = { ...CHECKS, ...(withTests && { 'the tests pass': () => testsFail('--all') }) };
  let isReady = true;
  for (const [name, check] of Object.entries(checks)) {
    const problem = await check().catch(String);
    console.log(`${problem === null ? 'ok    ' : 'FAILED'}  ${name}`);
    if (problem !== null) console.log(problem.replaceAll(/^/gm, '        '));
    isReady &&= problem === null;
  }
  return isReady;
}

if (process.argv[1] === import.meta.filename) {
  process.exitCode = (await checkRelease(!process.argv.includes('--no-tests'))) ? 0 : 1;
}
