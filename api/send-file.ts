import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { Upload } from '../db/queries/uploads.ts';
import type { Storage } from '../storage/storage.ts';

/** Answers with the content of a file as it comes from the store. @returns false if the store does not have the file */
export async function sendPrivateFile(
  context: Context,
  { id, filename, mimeType, bytes, storageKey }: Upload,
  storage: Pick<Storage, 'read'>,
): Promise<boolean> {
  const content = await storage.read(storageKey);
  if (content === null) return false;
  context.attachment(filename ?? `${id}.jsonl`);
  context.set({ 'Cache-Control': 'private, no-store', 'X-Content-Type-Options': 'nosniff' });
  context.type = mimeType;
  // Fetches no more than the client reads.
  context.body = Readable.from(content, { highWaterMark: 1 });
  context.length = bytes;
  return true;
}
