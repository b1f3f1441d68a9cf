/**
 * Upstreams' callbacks about final jobs. After a callback, Genway always fetches the state, as with a poll. A callback
 * must prove that it comes from the upstream: by the vendor's signature or, if the vendor signs nothing, by its address,
 * which only the upstream knows.
 */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isSameSecret } from '../../domain/same-secret.ts';
import type { PublishedKeys } from './published-keys.ts';

/** The announcement is not from the upstream, is too old, or cannot be read. Answer 401 and do nothing. */
export class InvalidCallbackError extends Error {
  override readonly name = 'InvalidCallbackError';
}

export interface CallbackRequest {
  readonly headers: IncomingHttpHeaders;
  /** The body, byte for byte, before parsing. */
  readonly rawBody: Uint8Array;
}

export interface Announcement {
  /** The job's id as the adapter made it; null if the announcement does not contain one. */
  readonly jobId: string | null;
  /** The task, if the announcement itself contains it. */
  readonly taskId?: string;
}

export interface CallbackFormat {
  /**
   * The proof of origin: `secret` is a signature with `callback_secret`, `keys` one with keys that the vendor
   * publishes, and `address` a MAC in the address, keyed with `callback_secret`. With `keys` the address also has the
   * MAC, keyed with the credential if there is no secret.
   */
  readonly proof: 'secret' | 'keys' | 'address';
  /** The address of the vendor's keys: for the proof `keys`, and for `address` if the vendor signs without the body. */
  readonly keysUrl?: string;
  /** Checks the proof, except the address, and reads the announcement. @throws InvalidCallbackError */
  read(callback: CallbackRequest, proof: CallbackProof): Announcement | Promise<Announcement>;
}

export interface CallbackProof {
  /** The operator's `callback_secret`; empty if the proof is `keys` and the operator configured none. */
  readonly secret: string;
  /** The vendor's keys, from {@link CallbackFormat.keysUrl}. */
  readonly keys: PublishedKeys;
  /** The query that the submission added to the address. The vendor's signature does not cover it. */
  readonly query: URLSearchParams;
  readonly nowMs: number;
}

const MAX_AGE_SECONDS = 300;

/** @throws InvalidCallbackError unless the header has exactly one value */
export function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string') throw new InvalidCallbackError(`the header ${name} is missing`);
  return value;
}

/** @throws InvalidCallbackError unless the Unix seconds are within five minutes of now */
export function assertRecent(timestamp: string, nowMs: number): void {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > MAX_AGE_SECONDS) {
    throw new InvalidCallbackError(`the timestamp is more than ${MAX_AGE_SECONDS} seconds away`);
  }
}

/** @throws InvalidCallbackError when the body is not JSON */
export function parseCallbackBody(rawBody: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(rawBody).toString('utf8'));
  } catch (error) {
    throw new InvalidCallbackError('the body is not JSON', { cause: error });
  }
}

/** The MAC in the address of a task's callbacks, for vendors that do not sign them. */
export function addressMac(secret: string, taskId: string): string {
  return createHmac('sha256', secret).update(`callback address of ${taskId}`).digest('base64url');
}

/** @throws InvalidCallbackError unless the address contains the task's MAC */
export function assertAddress(given: string | null, secret: string, taskId: string): void {
  if (!isSameSecret(Buffer.from(addressMac(secret, taskId)), Buffer.from(given ?? ''))) {
    throw new InvalidCallbackError('the callback address is wrong');
  }
}
