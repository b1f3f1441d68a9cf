import { timingSafeEqual } from 'node:crypto';

/** Compares secrets and signatures in constant time. */
export function isSameSecret(expected: Buffer, given: Buffer): boolean {
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
}
