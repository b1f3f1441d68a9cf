import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const SLOW = [String.raw`/\s+$/`, String.raw`/(a+)+$/`, String.raw`/^(.*),(.*)$/`, String.raw`/[^,]*,/`];
const LINEAR = [String.raw`/(?<!\s)\s+$/`, String.raw`/^a+$/`, String.raw`/^([^,]*),(.*)$/`, String.raw`/\{\w+\}/`];

describe('the rule for regular expressions', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-lint-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('refuses each expression that takes more than linear time, and no other', async () => {
    const file = join(folder, 'expressions.ts');
    await writeFile(file, [...SLOW, ...LINEAR].map((source) => `export default ${source};\n`).join(''));
    const output = await new Promise<string>((resolve) => {
      execFile('npx', ['oxlint', '--config', '.oxlintrc.json', '--format', 'unix', file], (_error, stdout) =>
        resolve(stdout),
      );
    });
    const lines = output.split('\n').filter((line) => line.includes('expressions(linear)'));
    const refused = new Set(lines.map((line) => Number(/\.ts:(\d+):/.exec(line)?.[1])));
    expect([...refused]).to.have.members(SLOW.map((_, index) => index + 1));
  });
});
