/** Runs the programs of clients. */
import { cp } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { childEnvironment } from '../../config.ts';
import { nodeWith, pythonWith, run } from '../stack/packages.ts';
import type { Client } from './clients.ts';
import { findDocumented, type Place } from './documented.ts';

export const PROGRAMS = join(import.meta.dirname, 'programs');

/** An account and addresses of a running stack, and a picture's file. */
export type Ground = Omit<Place, 'model'> & { readonly picture: string };

/**
 * Runs the program of a client whose packages are installed, with the settings of docs/clients.md.
 *
 * @returns the features that worked
 */
export async function runProgram(
  { name, packages, program, settings = {}, model }: Client,
  ground: Ground,
): Promise<string> {
  const { env: documented, config } = findDocumented(name, { ...ground, model });
  const { apiUrl, textUrl, apiKey, picture } = ground;
  const env = {
    BASE_URL: textUrl,
    API_URL: apiUrl,
    API_KEY: apiKey,
    PICTURE: picture,
    MODEL: model,
    CONFIG: config,
    ...documented,
    ...settings,
  };
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
      PATH: pathWith(bin),
      BIN: join(bin, settings['AGENT'] ?? ''),
    });
  })();
  return output.trim().split('\n').at(-1) ?? '';
}

export function pathWith(bin: string): string {
  return [bin, childEnvironment({})['PATH']].join(delimiter);
}
