/** Packages of npm and PyPI for programs beside Genway, installed once into the cache folder. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { startProcess } from '../../bin/stack/child-process.ts';
import { childEnvironment } from '../../config.ts';

/** One folder for each list of packages. */
const CACHE = join(homedir(), '.cache/genway/clients');

export type Settings = Readonly<Record<string, string>>;

/** Runs a command. @returns its output @throws Error with the output when the command fails */
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
  return join(CACHE, createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 16));
}
