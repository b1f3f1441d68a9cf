/** The form of API keys and of the keyed digests that are stored in their place. */
import { createHmac } from 'node:crypto';
import { randomLetters } from '../../domain/ids.ts';

const PREFIX = 'sk-';
const SECRET_LENGTH = 48;
const KEY = new RegExp(`^(?:${PREFIX})?[0-9a-z]{${SECRET_LENGTH}}$`);

/** Whether a text has the form of a key, with its prefix or without. */
export function isApiKey(text: string): boolean {
  return KEY.test(text);
}

/** A new key: `sk-` and 48 random letters and digits. Shown once and never stored. */
export function newApiKey(): string {
  return PREFIX + randomLetters(SECRET_LENGTH);
}

/**
 * The HMAC-SHA-256 by which a key is looked up. The `sk-` prefix is optional in what a client sends.
 *
 * @param pepper the secret without which a stolen table of digests is useless
 */
export function digestApiKey(key: string, pepper: Buffer): Buffer {
  const secret = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key;
  return createHmac('sha256', pepper).update(secret).digest();
}

/** The part of a key that may be shown again, to tell keys apart. */
export function hintOf(key: string): string {
  return `${PREFIX}…${key.slice(-4)}`;
}
