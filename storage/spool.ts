/**
 * Files of requests, on the local disk while their request is served: they may be sent to several upstreams, and are too
 * large for the memory. All files of this process share a limit, of which one owner gets a part.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';

const MAX_SPOOLED_BYTES = 2 * 2 ** 30;
const MAX_BYTES_OF_OWNER = MAX_SPOOLED_BYTES / 4;
const FOLDER = 'genway-audio-';
/** The names of this process's folders begin with this prefix. */
export const SPOOLED_PREFIX = `${FOLDER}${process.pid}-`;
const FULL_RETRY_SECONDS = 5;
const PROCESS_OF_FOLDER = new RegExp(`^${FOLDER}(\\d+)-`);

export interface SpooledFile {
  readonly path: string;
  readonly bytes: number;
  /** Can be called several times. */
  read(): AsyncIterable<Uint8Array>;
  /** Removes the file. */
  remove(): Promise<void>;
}

let spooledBytes = 0;
const bytesByOwner = new Map<string, number>();
let swept: Promise<void> | undefined;

/**
 * Writes a body to a file of its own.
 *
 * @param extension of the file, such as `.wav`
 * @throws ServiceError 503 if the files of all requests, or of those of the owner, are too large together; the error of
 *   the body
 */
export async function spool(
  body: AsyncIterable<Uint8Array>,
  { owner, extension = '' }: { readonly owner: string; readonly extension?: string },
): Promise<SpooledFile> {
  await (swept ??= removeFoldersOfDeadProcesses());
  const folder = await mkdtemp(join(tmpdir(), SPOOLED_PREFIX));
  const path = join(folder, `file${extension}`);
  let bytes = 0;
  const remove = async (): Promise<void> => {
    add(owner, -bytes);
    bytes = 0;
    await rm(folder, { recursive: true, force: true });
  };
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (add(owner, chunk.byteLength) > MAX_BYTES_OF_OWNER || spooledBytes > MAX_SPOOLED_BYTES) throw tooMany();
      yield chunk;
    }
  }
  try {
    await pipeline(Readable.from(counted()), createWriteStream(path));
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, bytes, read: () => createReadStream(path), remove };
}

/** Counts bytes on disk. @returns those of the owner */
function add(owner: string, bytes: number): number {
  spooledBytes += bytes;
  const own = (bytesByOwner.get(owner) ?? 0) + bytes;
  if (own === 0) bytesByOwner.delete(owner);
  else bytesByOwner.set(owner, own);
  return own;
}

/** A killed process leaves its folders. Call it before the first folder of this process, whose id a dead one may have had. */
async function removeFoldersOfDeadProcesses(): Promise<void> {
  const names = await readdir(tmpdir());
  const left = names.filter((name) => {
    const pid = Number(PROCESS_OF_FOLDER.exec(name)?.[1]);
    return Number.isInteger(pid) && (pid === process.pid || !isRunning(pid));
  });
  await Promise.allSettled(left.map((name) => rm(join(tmpdir(), name), { recursive: true, force: true })));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function tooMany(): ServiceError {
  return new ServiceError('processing_unavailable', 'Too many files are arriving at once. Try again.', {
    retryAfterSeconds: FULL_RETRY_SECONDS,
  });
}
