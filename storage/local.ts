import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { boundBody } from './bounded-body.ts';
import { assertStorageKey, keyOfLink, publicLink } from './keys.ts';
import type { Storage } from './storage.ts';

interface LocalStorageOptions {
  /** The folder of the files; created if missing. */
  readonly directory: string;
  /** The address at which `serveLocalFiles` answers, such as `http://127.0.0.1:8080/files`. */
  readonly publicUrl: string;
}

/** Holds unfinished files. No key can lead to this folder, because keys cannot start with a full stop. */
const UNFINISHED_DIRECTORY = '.unfinished';
/** Far longer than any upload or download may take, so no process is still writing the file. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/** Stores files on the local disk. A file gets its name once it is durable: readers see all of it or nothing. */
export function createLocalStorage({ directory, publicUrl }: LocalStorageOptions): Storage {
  return {
    async put(key, body, options) {
      assertStorageKey(key);
      const path = join(directory, key);
      const unfinished = join(directory, UNFINISHED_DIRECTORY, randomUUID());
      await mkdir(dirname(unfinished), { recursive: true });
      const bounded = boundBody(body, options);
      try {
        await writeDurably(unfinished, bounded);
        await mkdir(dirname(path), { recursive: true });
        await rename(unfinished, path);
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
      await syncDirectory(dirname(path));
      return { url: publicLink(publicUrl, key), bytes: bounded.bytes };
    },
    async delete(key) {
      assertStorageKey(key);
      await rm(join(directory, key), { force: true });
    },
    async read(key, { fromByte } = { fromByte: 0 }) {
      assertStorageKey(key);
      const file = await open(join(directory, key), 'r').catch(ignoreAbsence);
      return file?.createReadStream({ start: fromByte }) ?? null;
    },
    async sizeOf(key) {
      assertStorageKey(key);
      return (await stat(join(directory, key)).catch(ignoreAbsence))?.size ?? null;
    },
    urlOf: (key) => publicLink(publicUrl, key),
    keyOf: (url) => keyOfLink(publicUrl, url),
  };
}

/**
 * Removes the unfinished files of killed processes. Leaves younger files, which other processes may still be writing.
 *
 * @returns the number of removed files
 */
export async function sweepUnfinished(directory: string, now = Date.now()): Promise<number> {
  const folder = join(directory, UNFINISHED_DIRECTORY);
  const removed = await Promise.all(
    (await namesIn(folder)).map(async (name) => {
      const path = join(folder, name);
      // Another process may sweep at the same time, or finish the file.
      const file = await stat(path).catch(ignoreAbsence);
      if (!file || now - file.mtimeMs < ABANDONED_AFTER_MS) return false;
      await rm(path, { force: true });
      return true;
    }),
  );
  return removed.filter(Boolean).length;
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(ignoreAbsence)) ?? [];
}

/** @throws the error, unless it means that the file does not exist */
function ignoreAbsence(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

async function writeDurably(path: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for await (const chunk of body) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Writes the directory to the disk: otherwise a power failure may lose a new name. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
