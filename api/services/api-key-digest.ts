/** API keys: how they look, and how they are kept (only as keyed digests). */
import { createHmac } from 'node:crypto';
import { randomLetters } from '../../domain/ids.ts';

const PREFIX = 'sk-';
const SECRET_LENGTH = 48;

/** A new key: `sk-` and 48 random letters and digits. Shown once, never stored. */
export function newApiKey(): string {
  return PREFIX + randomLetters(SECRET_LENGTH);
}

/**
 * The HMAC-SHA-256 by which a key is looked up. The `sk-` prefix is optional on what a client sends.
 *
 * @param pepper the secret that makes a stolen table of digests useless
 */
export function digestApiKey(key: string, pepper: Buffer): Buffer {
  const secret = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key;
  return createHmac('sha256', pepper).update(secret).digest();
}

/** What of a key people may see again, to tell it from others. */
export function hintOf(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`;
}
