/** Installs what clients need into the cache folder, and runs their programs. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { startProcess } from '../../bin/stack/child-process.ts';
import { childEnvironment } from '../../config.ts';
import type { Client } from './clients.ts';

export const PROGRAMS = join(import.meta.dirname, 'programs');
/** Where packages are installed, once for each list. */
const TOOLS = join(homedir(), '.cache/genway/clients');

export type Settings = Readonly<Record<string, string>>;

/** What a command printed. @throws Error with it when the command fails */
export async function run(command: string, args: readonly string[], settings: Settings = {}): Promise<string> {
  const lines: string[] = [];
  const env = { ...childEnvironment({}), ...settings };
  const child = await startProcess({ command, args, env, output: (line) => void lines.push(line) });
  const exit = await child.exited;
  if (exit !== 0) throw new Error([`${basename(command)} ended with ${exit}`, ...lines.slice(-30)].join('\n'));
  return lines.join('\n');
}

/** An environment with these packages of PyPI. @returns its folder of programs */
export async function pythonWith(packages: readonly string[]): Promise<string> {
  const folder = folderOf(packages);
  const bin = join(folder, 'bin');
  if (existsSync(join(folder, DONE))) return bin;
  await run('python3', ['-m', 'venv', '--clear', folder]);
  // Its resolver needs seconds where that of pip needs minutes.
  await run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'uv==0.12.0']);
  await run(join(bin, 'uv'), ['pip', 'install', '--quiet', '--python', join(bin, 'python'), ...packages]);
  await writeFile(join(folder, DONE), '');
  return bin;
}

/** A folder with these packages of npm. */
export async function nodeWith(packages: readonly string[]): Promise<string> {
  const folder = folderOf(packages);
  await mkdir(folder, { recursive: true });
  if (existsSync(join(folder, DONE))) return folder;
  await run('npm', ['install', '--silent', '--no-save', '--prefix', folder, ...packages]);
  await writeFile(join(folder, DONE), '');
  return folder;
}

/** The last file that an installation writes. */
const DONE = '.installed';

function folderOf(packages: readonly string[]): string {
  return join(TOOLS, createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 16));
}

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
