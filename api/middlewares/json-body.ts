import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { badRequest } from '../../domain/errors.ts';
import { parseJson } from '../../text/json/parse.ts';
import { JsonSizer, type JsonLimits } from '../../text/json/size.ts';
import { receiving } from '../receiving.ts';

export interface BodyLimits extends JsonLimits {
  readonly maxBytes: number;
}

/** A JSON body; when absent, `undefined` with 0 bytes. */
export interface JsonBody {
  readonly value: unknown;
  readonly byteLength: number;
}

/**
 * Reads a JSON body. Bytes, depth and values are limited while it arrives; it is parsed once it is complete.
 *
 * @param mayBeParsed called when the whole body has arrived; may throw to refuse it
 * @throws ServiceError 400 for a body that is declared as compressed, is not JSON, or is too large once parsed; and the
 *   errors of {@link readBody}
 */
export async function readJsonBody(
  request: IncomingMessage,
  limits: BodyLimits,
  mayBeParsed: (sizer: JsonSizer, byteLength: number) => Promise<void> | null = () => null,
): Promise<JsonBody> {
  const sizer = new JsonSizer(limits);
  const { bytes, release } = await receiving.receive(request, limits.maxBytes, (piece) => sizer.push(piece));
  const { byteLength } = bytes;
  try {
    if (byteLength === 0) return { value: undefined, byteLength };
    requirePlainJson(request);
    await mayBeParsed(sizer, byteLength);
    return { value: await parse(bytes), byteLength };
  } finally {
    release();
  }
}

/**
 * Reads a raw body.
 *
 * @throws ServiceError 413 once more than `maxBytes` are announced or have arrived; 400 when the client stops halfway;
 *   408 or 503 when it is too slow
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { bytes, release } = await receiving.receive(request, maxBytes);
  release();
  return bytes;
}

async function parse(bytes: Uint8Array): Promise<unknown> {
  if (!isUtf8(bytes)) throw notJson();
  try {
    return await parseJson(bytes);
  } catch (error) {
    throw error instanceof SyntaxError ? notJson() : error;
  }
}

function notJson(): Error {
  return badRequest('The body is not valid JSON. Send a valid JSON object.');
}

/** @throws ServiceError `bad_request` for a body that is declared as something else, or as compressed */
export function requirePlainJson({ headers }: IncomingMessage): void {
  // Media types are case-insensitive: RFC 9110, section 8.3.1.
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== '' && type !== 'application/json' && !type.endsWith('+json')) {
    throw badRequest('The body must be JSON, sent with "Content-Type: application/json".');
  }
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    throw badRequest('The body must not be compressed. Send it without "Content-Encoding".');
  }
}
