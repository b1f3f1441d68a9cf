/** The results of a batch of messages in the form of Anthropic's API, from the files of the batch: contract 4.17. */
import { findUpload, type Upload } from '../../db/queries/uploads.ts';
import type { Database } from '../../db/database.ts';
import type { Batch } from '../../domain/batch.ts';
import { bufferOf } from '../../domain/body-bytes.ts';
import { ServiceError } from '../../domain/errors.ts';
import { isObject } from '../../domain/json.ts';
import { parseJson } from '../../text/json/parse.ts';
import { writeJsonLine } from '../../text/json/write.ts';
import type { Storage } from '../../storage/storage.ts';
import { LineSplitter } from '../../domain/line-splitter.ts';

/**
 * Finds the files of a batch.
 *
 * @throws ServiceError `not_found` once a file has expired, or was deleted
 */
export async function findResultFiles(
  { accountId, outputFileId, errorFileId }: Batch,
  database: Database,
): Promise<readonly Upload[]> {
  const ids = [outputFileId, errorFileId].filter((id) => id !== null);
  const files = await Promise.all(ids.map((id) => findUpload(database, accountId, id)));
  return files.map((file) => {
    if (file === null) throw new ServiceError('not_found', 'The results of the batch are no longer stored.');
    return file;
  });
}

/** @throws Error if the store lacks a file, or a file is not as the service wrote it */
export async function* readMessageResults(
  files: readonly Upload[],
  storage: Pick<Storage, 'read'>,
): AsyncGenerator<Uint8Array> {
  for (const { id, storageKey } of files) {
    const content = await storage.read(storageKey);
    if (content === null) throw new Error(`the store does not have the content of ${id}`);
    const splitter = new LineSplitter();
    for await (const bytes of content) {
      for (const line of splitter.push(bufferOf(bytes)))
        yield* await writeJsonLine(resultOf(await parseJson(line.bytes)));
    }
  }
}

/** Converts a line of an output or error file. */
function resultOf(line: unknown): object {
  if (!isObject(line)) throw new Error('a line of a file of a batch is no object');
  const { custom_id, response, error } = line;
  if (!isObject(response)) {
    const isExpired = isObject(error) && error['code'] === 'batch_expired';
    return { custom_id, result: { type: isExpired ? 'expired' : 'canceled' } };
  }
  const { status_code: status, body } = response;
  const result = status === 200 ? { type: 'succeeded', message: body } : { type: 'errored', error: body };
  return { custom_id, result };
}
