import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testPrograms } from './services.ts';

const run = promisify(execFile);
/** The program should end within this time, and serves instead. */
const TIMEOUT_MS = 60_000;

interface Ended {
  /** `null` when it had to be killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a built program of `bin` to its end.
 *
 * @param env its complete environment
 * @returns its output, for any end
 */
export async function runProgram(name: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const file = join(await testPrograms(), 'bin', `${name}.js`);
  return run(process.execPath, [file, ...words], { env, timeout: TIMEOUT_MS }).then(
    (printed) => ({ code: 0, ...printed }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  );
}
