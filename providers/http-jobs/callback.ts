/** Checks the announcements that an upstream sends when a job ends (docs/provider-protocol.md, "Callbacks"). */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const MAX_AGE_SECONDS = 300;

/** The announcement is not from the upstream, is too old, or makes no sense. Answer 401 and do nothing. */
export class InvalidCallbackError extends Error {
  override readonly name = 'InvalidCallbackError';
}

export interface CallbackRequest {
  readonly headers: IncomingHttpHeaders;
  /** The body, byte for byte, before any parsing. */
  readonly rawBody: Uint8Array;
}

export interface JobAnnouncement {
  readonly jobId: string;
  readonly taskId: string;
}

/**
 * Verifies an announcement. It only says that a job ended, not how: read the state from the upstream, as with a poll.
 *
 * @param secret shared with the upstream
 * @throws InvalidCallbackError
 */
export function verifyCallback(callback: CallbackRequest, secret: string, nowMs: number = Date.now()): JobAnnouncement {
  const timestamp = headerOf(callback.headers, 'x-job-timestamp');
  const signature = headerOf(callback.headers, 'x-job-signature');
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(callback.rawBody).digest();
  const given = Buffer.from(signature, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new InvalidCallbackError('the signature does not fit the body');
  }
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > MAX_AGE_SECONDS) {
    throw new InvalidCallbackError(`the timestamp is more than ${MAX_AGE_SECONDS} seconds away`);
  }
  return parseAnnouncement(callback.rawBody);
}

function parseAnnouncement(rawBody: Uint8Array): JobAnnouncement {
  let document: unknown;
  try {
    document = JSON.parse(Buffer.from(rawBody).toString('utf8'));
  } catch (error) {
    throw new InvalidCallbackError('the body is not JSON', { cause: error });
  }
  if (typeof document === 'object' && document !== null && 'id' in document && 'key' in document) {
    const { id, key } = document;
    if (typeof id === 'string' && typeof key === 'string') return { jobId: id, taskId: key };
  }
  throw new InvalidCallbackError('the body names no job');
}

function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string') throw new InvalidCallbackError(`the header ${name} is missing`);
  return value;
}
