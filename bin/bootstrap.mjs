/**
 * Makes `npm start` and `npm test` work on a fresh clone: checks Node, installs the dependencies when they are missing or
 * older than the lock file, then runs the TypeScript entry in this same process. It has no dependencies of its own.
 *
 * Usage: node bin/bootstrap.mjs start|test [arguments]
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = [20, 19];
const ENTRIES = { start: './start.ts', test: './tools/run-tests.ts' };

const root = fileURLToPath(new URL('..', import.meta.url));
const lockFile = `${root}package-lock.json`;
const stampFile = `${root}node_modules/.genway-lock-digest`;

checkNode();
const [node, , name, ...args] = process.argv;
const entry = ENTRIES[name];
if (!entry) fail(`usage: node bin/bootstrap.mjs ${Object.keys(ENTRIES).join('|')}`);
process.chdir(root);
if (!isInstalled()) install();
const { register } = await import('tsx/esm/api');
register();
// The entry finds its arguments where it would if it had been started itself.
process.argv = [node, fileURLToPath(new URL(entry, import.meta.url)), ...args];
await import(entry);

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  fail(`Genway needs Node ${OLDEST_NODE.join('.')} or newer, and this is ${process.versions.node}: https://nodejs.org`);
}

function lockDigest() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex');
}

function isInstalled() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockDigest();
}

function install() {
  console.log('installing the dependencies');
  const command = ['ci', '--no-audit', '--no-fund'];
  try {
    execFileSync('npm', command, { stdio: 'inherit', shell: process.platform === 'win32' });
  } catch (error) {
    if (error.code === 'ENOENT')
      fail('npm, which installs the dependencies, is not on the PATH; it comes with Node: https://nodejs.org');
    fail(`npm ${command.join(' ')} failed; see above. Once that is mended, run the same command again.`);
  }
  writeFileSync(stampFile, lockDigest());
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
