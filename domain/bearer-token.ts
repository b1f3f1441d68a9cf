/** Bearer tokens: RFC 6750, section 2.1. */
import { createHash } from 'node:crypto';
import { isSameSecret } from './same-secret.ts';

/** The token in the `Authorization` header; undefined if there is none. */
export function bearerTokenOf({ authorization }: { readonly authorization?: string | undefined }): string | undefined {
  return /^Bearer +(\S+)\s*$/i.exec(authorization ?? '')?.[1];
}

/** Creates a function that compares tokens with a secret token in constant time. */
export function createTokenCheck(token: string): (given: string) => boolean {
  const expected = digestToken(token);
  return (given) => isSameSecret(expected, digestToken(given));
}

/** The SHA-256 by which a random token is stored and looked up. A random token needs neither salt nor pepper. */
export function digestToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
