/** Checks the input file of a batch while it arrives: contract 4.5. */
import { bufferOf } from '../../domain/body-bytes.ts';
import { badRequest } from '../../domain/errors.ts';
import { BATCHES } from '../../domain/policy.ts';
import { runInTurn } from '../../text/json/steps.ts';
import { isBlank, parseBatchLine, refuseLine, tooLong } from './batch-line.ts';
import { DistinctIds } from './distinct-ids.ts';
import { type Line, LineSplitter } from '../../domain/line-splitter.ts';

/** A file whose lines are checked while it is read. */
export interface CheckedInput {
  /** @throws ServiceError `bad_request` with the number of the first wrong line */
  readonly body: AsyncIterable<Uint8Array>;
  /** The number of requests so far. */
  readonly lines: { readonly count: number };
}

/** The size of an input: its lines or requests, blank lines included, and the bytes of each. */
export type InputLimits = Pick<typeof BATCHES, 'maxLines' | 'maxLineBytes'>;

/** @param hold is called with the bytes that the check holds in memory: an incomplete line */
export function checkBatchInput(
  source: AsyncIterable<Uint8Array>,
  hold: (bytes: number) => void,
  { maxLines, maxLineBytes }: InputLimits = BATCHES,
): CheckedInput {
  const splitter = new LineSplitter();
  const ids = new DistinctIds();
  const lines = { count: 0 };

  async function check(line: Line): Promise<void> {
    if (line.number > maxLines) throw tooManyLines(maxLines);
    if (line.bytes.byteLength > maxLineBytes) throw lineTooLong(line.number, maxLineBytes);
    if (isBlank(line)) return;
    const { customId } = await parseBatchLine(line);
    if (!ids.add(customId)) {
      throw refuseLine(line.number, `"custom_id" is ${JSON.stringify(customId)}, which an earlier line has, too.`);
    }
    lines.count += 1;
  }

  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of source) {
        // One piece a turn, of all bodies: each may end a line, which is copied as a whole.
        for (const line of await runInTurn(() => [...splitter.push(bufferOf(bytes))])) await check(line);
        hold(splitter.heldBytes);
        if (splitter.heldBytes > maxLineBytes) throw lineTooLong(splitter.number, maxLineBytes);
        yield bytes;
      }
      const last = await runInTurn(() => splitter.end());
      if (last !== null) await check(last);
      if (lines.count === 0) throw badRequest('The file is empty.');
    } finally {
      hold(0);
    }
  }
  return { body: body(), lines };
}

function tooManyLines(maxLines: number): Error {
  return badRequest(`The file has more than ${maxLines} lines. Send several files.`);
}

function lineTooLong(number: number, maxBytes: number): Error {
  return refuseLine(number, tooLong('line', maxBytes));
}
