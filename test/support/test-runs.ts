import { runCommand } from '../../bin/stack/child-process.ts';

export const HANGS = 'test/fixtures/runs/hangs.ts';
export const HOLDS = 'test/fixtures/runs/holds.ts';

/** Runs `npm test` with the arguments. */
export async function runTests(...args: readonly string[]) {
  const lines: string[] = [];
  const exit = await runCommand({
    command: process.execPath,
    args: ['--import', 'tsx', 'bin/tools/run-tests.ts', ...args],
    output: (line) => lines.push(line),
  });
  return { exit, output: lines.join('\n'), lastLine: lines.at(-1) };
}
