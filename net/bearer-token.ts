/** Bearer tokens: RFC 6750, section 2.1. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The token in the `Authorization` header; undefined without one. */
export function bearerTokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+)\s*$/i.exec(authorization ?? '')?.[1];
}

/** Compares tokens with a secret one in constant time. */
export function createTokenCheck(token: string): (given: string) => boolean {
  const expected = digest(token);
  return (given) => timingSafeEqual(digest(given), expected);
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
