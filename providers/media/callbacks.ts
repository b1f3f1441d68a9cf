/**
 * How upstreams announce that a job has ended. An announcement only says that there is something to ask about; the state is
 * always asked for, as with a poll. What it proves is that the upstream speaks: by a signature of the vendor's, or, where
 * the vendor signs nothing, by an address that only it was told.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The announcement is not from the upstream, is too old, or makes no sense. Answer 401 and do nothing. */
export class InvalidCallbackError extends Error {
  override readonly name = 'InvalidCallbackError';
}

export interface CallbackRequest {
  readonly headers: IncomingHttpHeaders;
  /** The body, byte for byte, before any parsing. */
  readonly rawBody: Uint8Array;
}

export interface Announcement {
  /** By the adapter's name for it; null where the announcement tells none. */
  readonly jobId: string | null;
  /** The task, where the announcement itself tells it. */
  readonly taskId?: string;
}

export interface CallbackFormat {
  /**
   * What proves that the upstream speaks: `secret` is a signature with `callback_secret`, `keys` one with keys that the vendor
   * publishes, and `address` a MAC in the address itself, under `callback_secret`. The address has the MAC with `keys`, too,
   * where there is a secret.
   */
  readonly proof: 'secret' | 'keys' | 'address';
  /** Where the vendor publishes its keys; for the proof `keys`. */
  readonly keysUrl?: string;
  /**
   * Checks what the proof is, but for the address, and reads the announcement.
   *
   * @throws InvalidCallbackError
   */
  read(callback: CallbackRequest, proof: CallbackProof): Announcement | Promise<Announcement>;
}

export interface CallbackProof {
  /** The operator's `callback_secret`; empty for the proof `keys` where there is none. */
  readonly secret: string;
  /** The vendor's published keys, as JSON Web Keys; fetched at most once in a while. */
  readonly keys: () => Promise<readonly JsonWebKey[]>;
  /** Of the address at which it arrived: what the submission added to it. Nothing signs it. */
  readonly query: URLSearchParams;
  readonly nowMs: number;
}

/** A key of a JSON Web Key Set: RFC 7517. */
export interface JsonWebKey {
  readonly kid?: string;
  readonly kty?: string;
  readonly [parameter: string]: unknown;
}

const MAX_AGE_SECONDS = 300;

/** @throws InvalidCallbackError when it is not one value */
export function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string') throw new InvalidCallbackError(`the header ${name} is missing`);
  return value;
}

/** @throws InvalidCallbackError unless the Unix seconds are those of now, give or take five minutes */
export function assertRecent(timestamp: string, nowMs: number): void {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > MAX_AGE_SECONDS) {
    throw new InvalidCallbackError(`the timestamp is more than ${MAX_AGE_SECONDS} seconds away`);
  }
}

/** Compares signatures without telling, by the time it takes, how much of one is right. */
export function isSameSignature(expected: Buffer, given: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** @throws InvalidCallbackError when the body is not JSON */
export function parseCallbackBody(rawBody: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(rawBody).toString('utf8'));
  } catch (error) {
    throw new InvalidCallbackError('the body is not JSON', { cause: error });
  }
}

/** What stands in the address of a task's callbacks where the vendor signs nothing. */
export function addressMac(secret: string, taskId: string): string {
  return createHmac('sha256', secret).update(`callback address of ${taskId}`).digest('base64url');
}

/** @throws InvalidCallbackError unless the address holds the MAC of the task */
export function assertAddress(given: string | null, secret: string, taskId: string): void {
  if (!isSameSignature(Buffer.from(addressMac(secret, taskId)), Buffer.from(given ?? ''))) {
    throw new InvalidCallbackError('its address is not the one that was given out');
  }
}
