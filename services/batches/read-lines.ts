import type { Storage } from '../../storage/storage.ts';
import { bufferOf } from '../../domain/body-bytes.ts';
import { type BatchLine, isBlank, parseBatchLine } from './batch-line.ts';
import { FIRST_LINE, type LinePosition, LineSplitter } from '../../domain/line-splitter.ts';

/** The input file of a batch is no longer in storage. */
export class InputFileMissingError extends Error {
  override readonly name = 'InputFileMissingError';
}

/**
 * Reads the requests of a stored input file in order, one line in memory at a time. Stopping early closes the file.
 *
 * @param from where to start: `number` after the last line that was read, `byte` its `nextByte`
 * @throws InputFileMissingError
 * @throws ServiceError `bad_request` for a wrong line, which an input file that was checked on arrival does not have
 */
export async function* readBatchLines(
  storage: Pick<Storage, 'read'>,
  storageKey: string,
  from: LinePosition = FIRST_LINE,
): AsyncGenerator<BatchLine, void, undefined> {
  const file = await storage.read(storageKey, { fromByte: from.byte });
  if (file === null) throw new InputFileMissingError(`there is no object ${storageKey}`);
  const splitter = new LineSplitter(from);
  for await (const bytes of file) {
    for (const line of splitter.push(bufferOf(bytes))) if (!isBlank(line)) yield await parseBatchLine(line);
  }
  const last = splitter.end();
  if (last !== null && !isBlank(last)) yield await parseBatchLine(last);
}
