/** Signatures with a published Ed25519 key: RFC 8032, and RFC 8037 for the keys. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { InvalidCallbackError } from '../callbacks.ts';
import type { JsonWebKey, PublishedKeys } from '../published-keys.ts';

const SIGNATURE_BYTES = 64;

/**
 * @param signature in hexadecimal digits
 * @throws InvalidCallbackError unless one of the keys made the signature
 */
export async function assertEd25519(message: string, signature: string, keys: PublishedKeys): Promise<void> {
  const bytes = Buffer.from(signature, 'hex');
  const isSigned =
    bytes.length === SIGNATURE_BYTES &&
    (await keys.some((jwk) => {
      const key = publicKeyOf(jwk);
      return key !== null && verify(null, Buffer.from(message), key, bytes);
    }));
  if (!isSigned) throw new InvalidCallbackError('the signature was not made with a published key');
}

/** @returns null for another kind of key */
function publicKeyOf({ kty, crv, x }: JsonWebKey): KeyObject | null {
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return null;
  try {
    return createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  } catch {
    return null;
  }
}
