import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { badRequest, ServiceError } from '../domain/errors.ts';
import { ObjectTooLargeError } from '../storage/storage.ts';
import { boundedBody, tooLarge } from './receive-upload.ts';
import { receiving } from './receiving.ts';

/** A body that is read while it arrives. */
export interface StreamedBody {
  readonly body: AsyncIterable<Uint8Array>;
  readonly announcedBytes: number | null;
  /** Sets how many bytes of the body are held in memory. */
  readonly hold: (bytes: number) => void;
}

/**
 * Reads a body within limits of pace, size and memory.
 *
 * @returns the result of `read`
 * @throws ServiceError 413, 408 or 503, through the body
 */
export async function receiveStreamedBody<Result>(
  request: IncomingMessage,
  maxBytes: number,
  read: (body: StreamedBody) => Promise<Result>,
): Promise<Result> {
  const announced = request.headers['content-length'];
  const announcedBytes = announced === undefined ? null : Number(announced);
  if ((announcedBytes ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const body = Readable.from(wholeBody(request, maxBytes), { highWaterMark: 1 });
  const refuse = (error: ServiceError): void => void body.destroy(error);
  const held = receiving.hold(refuse);
  finished(body).catch(() => {});
  try {
    return await read({ body, announcedBytes, hold: (bytes) => held.resize(bytes) });
  } catch (error) {
    throw error instanceof ObjectTooLargeError ? tooLarge(maxBytes) : error;
  } finally {
    held.release();
    body.destroy();
  }
}

async function* wholeBody(request: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  try {
    yield* boundedBody(request, { bytes: maxBytes, fileBytes: maxBytes });
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw badRequest('The body ended before it was complete. Send the whole body.');
  }
}
