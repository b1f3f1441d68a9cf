/** Runs the programs of clients. */
import { cp } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { childEnvironment } from '../../config.ts';
import { nodeWith, pythonWith, run, type Settings } from '../stack/packages.ts';
import type { Client } from './clients.ts';

export const PROGRAMS = join(import.meta.dirname, 'programs');

/** Runs the program of a client whose packages are installed. @returns the features that worked */
export async function runProgram(
  { packages, program, settings = {}, model }: Client,
  given: Settings,
): Promise<string> {
  const env = { ...given, MODEL: model, ...settings };
  const output = await (async () => {
    if (packages.from === 'pypi') {
      const bin = await pythonWith(packages.names);
      return run(join(bin, 'python'), [join(PROGRAMS, program)], { ...env, PATH: pathWith(bin) });
    }
    if (packages.from === 'none') return run(process.execPath, [join(PROGRAMS, program)], env);
    const folder = await nodeWith(packages.names);
    // Node looks for packages beside the program.
    await cp(PROGRAMS, join(folder, 'programs'), { recursive: true });
    const bin = join(folder, 'node_modules/.bin');
    return run(process.execPath, [join(folder, 'programs', program)], {
      ...env,
      BIN: join(bin, settings['AGENT'] ?? ''),
    });
  })();
  return output.trim().split('\n').at(-1) ?? '';
}

export function pathWith(bin: string): string {
  return [bin, childEnvironment({})['PATH']].join(delimiter);
}
