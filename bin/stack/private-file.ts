/** Reads and writes small JSON files that only their owner can read. */
import { readFile, rename, writeFile } from 'node:fs/promises';

/** Returns the content of the file; undefined if it does not exist. */
export async function readPrivateFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read. Repair or remove it.`, { cause: error });
  }
}

/** Writes the file atomically. */
export async function writePrivateFile(path: string, value: unknown): Promise<void> {
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, path);
}
