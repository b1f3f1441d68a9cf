/** Turns the body of `POST /v1/messages/batches` into the input file of a batch, while it arrives. */
import { bufferOf } from '../../domain/body-bytes.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { BATCHES } from '../../domain/policy.ts';
import { runInTurn } from '../../text/json/steps.ts';
import { writeJsonLine } from '../../text/json/write.ts';
import { assertCustomId, parseBounded, tooLong } from './batch-line.ts';
import type { CheckedInput, InputLimits } from './check-input.ts';
import { DistinctIds } from './distinct-ids.ts';
import { RequestSplitter } from './request-splitter.ts';

/** The limit of the body without its requests: of commas, and of the spaces of a document that is indented. */
const MAX_REST_BYTES = 4 * 2 ** 20;
const NOT_JSON = 'The body must be a JSON object with the list "requests".';

/**
 * @param hold is called with the bytes that are held in memory: an incomplete request
 * @returns the lines of the input file, which fail with ServiceError `bad_request` at the first wrong request
 */
export function readMessageRequests(
  source: AsyncIterable<Uint8Array>,
  hold: (bytes: number) => void,
  { maxLines, maxLineBytes }: InputLimits = BATCHES,
): CheckedInput {
  const splitter = new RequestSplitter();
  const ids = new DistinctIds();
  const lines = { count: 0 };

  async function toLine(bytes: Buffer): Promise<readonly Uint8Array[]> {
    const index = lines.count;
    if (index >= maxLines) throw badRequest(`"requests" has more than ${maxLines} items.`);
    if (bytes.byteLength > maxLineBytes) throw requestTooLong(index, maxLineBytes);
    const { customId, params } = await parseRequest(index, bytes);
    if (!ids.add(customId)) {
      throw refuse(index, `"custom_id" is ${JSON.stringify(customId)}, which an earlier request has, too.`);
    }
    lines.count += 1;
    return writeJsonLine({ custom_id: customId, method: 'POST', url: '/v1/messages', body: params });
  }

  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of source) {
        // One piece a turn, of all bodies: each may end a request, which is copied as a whole.
        for (const request of await runInTurn(() => [...splitter.push(bufferOf(bytes))])) yield* await toLine(request);
        hold(splitter.requestBytes + splitter.restBytes);
        if (splitter.requestBytes > maxLineBytes) throw requestTooLong(lines.count, maxLineBytes);
        if (splitter.restBytes > MAX_REST_BYTES) throw badRequest(NOT_JSON);
      }
      await assertRest(await runInTurn(() => splitter.end()), lines.count);
    } finally {
      hold(0);
    }
  }
  return { body: body(), lines };
}

async function parseRequest(
  index: number,
  bytes: Buffer,
): Promise<{ readonly customId: string; readonly params: JsonObject }> {
  try {
    const request = await parseBounded(bytes);
    if (!isObject(request)) throw badRequest('A request must be an object.');
    const { custom_id: customId, params } = request;
    assertCustomId(customId);
    if (!isObject(params)) throw badRequest('"params" must be an object.');
    return { customId, params };
  } catch (error) {
    if (error instanceof ServiceError) throw refuse(index, error.message);
    throw error instanceof SyntaxError ? badRequest(NOT_JSON) : error;
  }
}

/** Checks the document around the requests. */
async function assertRest(rest: Buffer, count: number): Promise<void> {
  const document = await parseBounded(rest).catch((error: unknown) => {
    throw error instanceof SyntaxError ? badRequest(NOT_JSON) : error;
  });
  if (!isObject(document) || !Array.isArray(document['requests'])) throw badRequest(NOT_JSON);
  const unknown = Object.keys(document).find((field) => field !== 'requests');
  if (unknown !== undefined) throw badRequest(`"${unknown.slice(0, 100)}" is unknown. Send only "requests".`);
  const { requests } = document;
  if (count === 0 && requests.length === 0) throw badRequest('"requests" requires at least 1 item.');
  if (requests.length !== count) throw badRequest('The items of "requests" must be objects.');
}

function refuse(index: number, reason: string): ServiceError {
  return badRequest(`requests.${index}: ${reason}`);
}

function requestTooLong(index: number, maxBytes: number): ServiceError {
  return refuse(index, tooLong('request', maxBytes));
}
