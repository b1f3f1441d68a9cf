import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { HOLDS, runTests } from '../../support/test-runs.ts';
import { useTestFolder } from '../../support/started.ts';

describe('a run of tests', () => {
  const folder = relative('.', useTestFolder());
  const named = join(relative('.', useTestFolder()), 'kills.slow.test.ts');
  let quick: Awaited<ReturnType<typeof runTests>>;
  let report: string;
  before(async () => {
    await writeFile(join(folder, 'quick.test.ts'), "it('takes no time', () => {});");
    const slow = [join(folder, 'kills.slow.test.ts'), named];
    await Promise.all(slow.map((file) => writeFile(file, "it('takes long', () => {});")));
    quick = await runTests(folder, named, HOLDS);
    report = readFileSync('test-results/cpu.md', 'utf8');
  });

  it('omits slow files, says so before its last line, and runs them with --all or by their own name', async () => {
    const all = await runTests('--all', folder);
    expect(quick.output).to.match(/^not run: 1 slow files \(\*\.slow\.test\.ts\); npm test -- --all runs them\n/m);
    expect(all).to.include({ exit: 0, lastLine: '2 passed, 0 failed' });
    expect(all.output).to.not.contain('not run');
    expect(quick).to.include({ exit: 0, lastLine: '3 passed, 0 failed' });
  });

  it('ends although a test leaves a timer behind, and records the processor time of files and processes', () => {
    expect(quick.exit).to.equal(0);
    expect(report).to.match(/^# Processor time: \d+ s$/m);
    expect(report).to.match(new RegExp(`^\\| ${HOLDS} \\| [\\d.]+ \\| [\\d.]+ \\| 0 \\|$`, 'm'));
    expect(report).to.match(/^\| mocha \w+ \| \d+ \|$/m);
  });

  it('refuses files after an option that is not its own, and says what to do', async () => {
    const { exit, output, lastLine } = await runTests('--grep', 'time', folder);
    expect({ exit, lastLine }).to.deep.equal({ exit: 1, lastLine: '0 passed, 1 failed' });
    expect(output).to.contain(`${folder} comes after --grep`).and.contain('then options for mocha');
  });
});
