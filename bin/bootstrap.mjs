/**
 * Makes `npm start`, `npm test` and `npm run genway` work on a fresh clone: checks the Node version, installs the dependencies if they
 * are missing or out of date, then runs the TypeScript entry point in the same process. Has no dependencies itself.
 *
 * Usage: node bin/bootstrap.mjs start|test|genway [arguments]
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MIN_NODE = [20, 19];
const INSTALL_TIMEOUT_MS = 20 * 60_000;
const ENTRIES = { start: './start.ts', test: './tools/run-tests.ts', genway: './genway.ts' };

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
// The entry point finds its arguments as if Node had started it directly.
process.argv = [node, fileURLToPath(new URL(entry, import.meta.url)), ...args];
await import(entry);

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [minMajor, minMinor] = MIN_NODE;
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return;
  fail(`Genway needs Node ${MIN_NODE.join('.')} or newer; this is ${process.versions.node}: https://nodejs.org`);
}

function lockDigest() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex');
}

function isInstalled() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockDigest();
}

function install() {
  // The output of `genway` is for programs, too.
  console.error('installing the dependencies');
  const command = ['ci', '--no-audit', '--no-fund'];
  try {
    execFileSync('npm', command, {
      stdio: ['inherit', process.stderr, 'inherit'],
      shell: process.platform === 'win32',
      timeout: INSTALL_TIMEOUT_MS,
    });
  } catch (error) {
    if (error.code === 'ENOENT')
      fail('npm, which installs the dependencies, is not on the PATH. It comes with Node: https://nodejs.org');
    fail(`npm ${command.join(' ')} failed; see above. Fix the cause and run the same command again.`);
  }
  writeFileSync(stampFile, lockDigest());
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
