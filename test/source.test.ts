import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const TIMEOUT_MS = 600_000;

/** The types are checked with a cache: a second run checks only what has changed. */
const checks: readonly [string, readonly [string, ...string[]]][] = [
  [
    'passes the type check without errors',
    ['tsc', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'],
  ],
  ['passes the linter without findings', ['oxlint', '--type-aware', '--deny-warnings']],
  ['follows the format of oxfmt', ['oxfmt', '--check', '.']],
];

describe('the source', () => {
  for (const [rule, [command, ...args]] of checks) {
    it(rule, async () => {
      const findings = await run(join(root, 'node_modules/.bin', command), args, { cwd: root }).then(
        () => '',
        (error: { stdout: string; stderr: string }) => `\n${error.stdout}${error.stderr}`,
      );
      if (findings !== '') expect.fail(findings);
    }).timeout(TIMEOUT_MS);
  }

  it('contains no markers of unresolved merges', async () => {
    const markers = await run('git', ['grep', '--untracked', '-nE', '^(<{7}|>{7}) '], { cwd: root }).then(
      ({ stdout }) => stdout,
      ({ code, stderr }: { code: number; stderr: string }) => (code === 1 ? '' : stderr),
    );
    expect(markers).to.equal('');
  });
});
