import type { IncomingMessage } from 'node:http';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import type { Middleware } from '../state.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  /** How many objects and arrays may stand in one another. */
  readonly maxDepth: number;
}

/**
 * Reads a JSON body into `state.body`; bounded in bytes while it is read, and in depth before it is parsed.
 * An absent body is `undefined`.
 */
export function jsonBody(limits: BodyLimits): Middleware {
  return async (context, next) => {
    const bytes = await readBody(context.req, limits.maxBytes);
    if (bytes.byteLength > 0) context.state.body = readJson(bytes, context.req, limits.maxDepth);
    await next();
  };
}

/** @throws ServiceError 400 for a body that says it is compressed or no JSON, and what {@link parseJson} throws */
export function readJson(bytes: Uint8Array, { headers }: IncomingMessage, maxDepth: number): unknown {
  // Media types are written in any case: RFC 9110, section 8.3.1.
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== '' && type !== 'application/json' && !type.endsWith('+json')) {
    throw badRequest('The body must be JSON, sent with "Content-Type: application/json".');
  }
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    throw badRequest('The body must not be compressed. Send it without "Content-Encoding".');
  }
  return parseJson(bytes, maxDepth);
}

/** @throws ServiceError 413 once more than `maxBytes` are announced or have arrived; 400 when the client stops halfway */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => reject(badRequest('The body ended before it was complete.'));
    if (request.destroyed) return leave();
    const take = (chunk: Buffer): void => {
      bytes += chunk.byteLength;
      if (bytes <= maxBytes) return void chunks.push(chunk);
      request.off('data', take).pause();
      reject(tooLarge(maxBytes));
    };
    request.on('data', take).once('close', leave);
    request.once('end', () => {
      request.off('close', leave);
      resolve();
    });
  });
  return Buffer.concat(chunks);
}

/** @throws ServiceError 400 for anything that is not JSON in UTF-8, or nests deeper than `maxDepth` */
export function parseJson(bytes: Uint8Array, maxDepth: number): unknown {
  if (depthOf(bytes) > maxDepth) throw badRequest(`The body nests deeper than ${maxDepth} levels.`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
}

/** The deepest nesting of brackets outside strings, found in one pass over the bytes and without parsing. */
function depthOf(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (inString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) deepest = Math.max(deepest, (depth += 1));
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'read_request_body_failed',
    `The body is larger than ${maxBytes} bytes. Upload large files with POST /v1/files and pass their links.`,
  );
}
