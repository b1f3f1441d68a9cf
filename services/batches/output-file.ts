import type { Database } from '../../db/database.ts';
import { deleteUpload, finishUpload, type NewUpload, startOutput, type Upload } from '../../db/queries/uploads.ts';
import type { Storage } from '../../storage/storage.ts';
import { batchFileExpiry, JSON_LINES, privateKeyOf } from './stored-file.ts';

export interface OutputFile {
  /** `file_…`, the same in each attempt to write the file. */
  readonly id: string;
  readonly accountId: string;
  readonly filename: string;
  /** JSON without line breaks, one text a line. */
  readonly lines: AsyncIterable<string>;
}

/** Small lines are joined to pieces of this length. */
const PIECE_LENGTH = 64 * 1024;

/**
 * Streams lines into a stored file with the purpose `batch_output`. A repetition with the same id replaces an unfinished
 * file, and changes nothing once the file is complete.
 *
 * @returns null if there are no lines, and stores nothing
 * @throws the error of `lines` or of the store, and leaves nothing in storage
 */
export async function writeOutputFile(
  database: Database,
  storage: Storage,
  { id, accountId, filename, lines }: OutputFile,
): Promise<Upload | null> {
  const createdAt = new Date();
  const expiresAt = batchFileExpiry(createdAt);
  const storageKey = privateKeyOf(id);
  const { mimeType } = JSON_LINES;
  const output: NewUpload = {
    id,
    accountId,
    storageKey,
    mimeType,
    filename,
    purpose: 'batch_output',
    createdAt,
    expiresAt,
  };
  const started = await startOutput(database, output);
  if (started.isComplete) return started.upload;
  let count = 0;
  async function* counted(): AsyncGenerator<string> {
    for await (const line of lines) {
      count += 1;
      yield `${line}\n`;
    }
  }
  const options = { contentType: mimeType, maxBytes: Number.POSITIVE_INFINITY };
  const { bytes } = await storage.put(started.upload.storageKey, inPieces(counted()), options);
  if (count === 0) {
    await storage.delete(started.upload.storageKey);
    await deleteUpload(database, accountId, id);
    return null;
  }
  await finishUpload(database, output, bytes, count);
  return { ...started.upload, bytes, lines: count };
}

async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let pending = '';
  for await (const text of texts) {
    pending += text;
    if (pending.length < PIECE_LENGTH) continue;
    yield Buffer.from(pending);
    pending = '';
  }
  if (pending !== '') yield Buffer.from(pending);
}
