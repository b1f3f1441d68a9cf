/** A line of a batch's input: contract 4.5. */
import { isUtf8 } from 'node:buffer';
import type { BatchRequest } from '../../domain/batch.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { isObject } from '../../domain/json.ts';
import { BATCHES, BODIES } from '../../domain/policy.ts';
import { isStorable } from '../../domain/storable-text.ts';
import { LARGE_JSON_BYTES, parseInSteps, parseJson } from '../../text/json/parse.ts';
import { JsonSizer } from '../../text/json/size.ts';
import { runInSteps, type Steps } from '../../text/json/steps.ts';
import type { Line } from '../../domain/line-splitter.ts';

export interface BatchLine extends BatchRequest {
  /** The line's number in the file, from 1 on. */
  readonly number: number;
  /** The size of the line in bytes. */
  readonly bytes: number;
  /** Where the next line starts in the file. */
  readonly nextByte: number;
}

/** The line's own object and fields, around the body of a request. */
const AROUND_BODY = { depth: 1, values: 16 };
const LIMITS = {
  maxDepth: BODIES.text.maxDepth + AROUND_BODY.depth,
  maxValues: BODIES.embeddings.maxValues + AROUND_BODY.values,
};
const SIZING_BYTES = 512 * 1024;
const MAX_URL_LENGTH = 200;
const BYTES_PER_MB = 2 ** 20;

/** A longer line is no blank line: looking at 16 MB of white space would take too long. */
const MAX_BLANK_BYTES = 1_024;

/** Whether a line has only white space. Such lines are skipped. */
export function isBlank({ bytes }: Line): boolean {
  return bytes.byteLength <= MAX_BLANK_BYTES && bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** @throws ServiceError `bad_request` with the number of the line */
export async function parseBatchLine({ number, bytes, nextByte }: Line): Promise<BatchLine> {
  try {
    const { customId, url, body } = readFields(await parseBounded(bytes));
    return { number, customId, url, body, bytes: bytes.byteLength, nextByte };
  } catch (error) {
    if (error instanceof ServiceError) throw refuseLine(number, error.message);
    throw error instanceof SyntaxError ? refuseLine(number, NOT_JSON) : error;
  }
}

export function refuseLine(number: number, reason: string): ServiceError {
  return badRequest(`Line ${number}: ${reason}`);
}

/** Why a line, or the request of one, is refused for its size. */
export function tooLong(what: 'line' | 'request', maxBytes: number): string {
  return `The ${what} is longer than ${maxBytes / BYTES_PER_MB} MB.`;
}

const NOT_JSON = 'The line must be a JSON object with "custom_id", "method", "url" and "body".';

/**
 * Parses a request with the limits of a direct request's body. A large one is parsed in steps.
 *
 * @throws SyntaxError, or ServiceError `bad_request` beyond a limit
 */
export async function parseBounded(bytes: Buffer): Promise<unknown> {
  if (bytes.byteLength >= LARGE_JSON_BYTES) return runInSteps(parseLargeLine(bytes));
  assertUtf8(bytes);
  new JsonSizer(LIMITS).push(bytes);
  return parseJson(bytes);
}

function assertUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw badRequest('The text is not UTF-8.');
}

function* parseLargeLine(bytes: Buffer): Steps<unknown> {
  assertUtf8(bytes);
  yield;
  const sizer = new JsonSizer(LIMITS);
  for (let start = 0; start < bytes.byteLength; start += SIZING_BYTES) {
    sizer.push(bytes.subarray(start, start + SIZING_BYTES));
    yield;
  }
  return yield* parseInSteps(bytes);
}

/** @throws ServiceError `bad_request` */
export function assertCustomId(id: unknown): asserts id is string {
  const { maxCustomIdLength } = BATCHES;
  if (typeof id !== 'string' || id === '' || id.length > maxCustomIdLength || !isStorable(id)) {
    throw badRequest(`"custom_id" must be a text of 1 to ${maxCustomIdLength} characters.`);
  }
}

function readFields(line: unknown): BatchRequest {
  if (!isObject(line)) throw badRequest(NOT_JSON);
  const { custom_id: customId, method, url, body } = line;
  assertCustomId(customId);
  if (method !== 'POST') throw badRequest('"method" must be "POST".');
  if (typeof url !== 'string' || !url.startsWith('/v1/') || url.length > MAX_URL_LENGTH || !isStorable(url)) {
    throw badRequest('"url" must be the path of an endpoint, such as "/v1/chat/completions".');
  }
  if (!isObject(body)) throw badRequest('"body" must be an object.');
  return { customId, url, body };
}
