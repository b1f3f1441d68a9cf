/** Signatures with a published Ed25519 key: RFC 8032, and RFC 8037 for the keys. */
import { createPublicKey, verify } from 'node:crypto';
import { InvalidCallbackError } from '../callbacks.ts';
import type { PublishedKeys } from '../published-keys.ts';

const SIGNATURE_BYTES = 64;

/**
 * @param signature in hexadecimal digits
 * @throws InvalidCallbackError unless one of the keys made the signature
 */
export async function assertEd25519(message: string, signature: string, keys: PublishedKeys): Promise<void> {
  const bytes = Buffer.from(signature, 'hex');
  const isSigned =
    bytes.length === SIGNATURE_BYTES &&
    (await keys.some(async (jwk) => {
      try {
        const key = createPublicKey({ key: jwk, format: 'jwk' });
        return key.asymmetricKeyType === 'ed25519' && verify(null, Buffer.from(message), key, bytes);
      } catch {
        // The key is malformed.
        return false;
      }
    }));
  if (!isSigned) throw new InvalidCallbackError('the signature was not made with a published key');
}
