/** JSON Web Tokens signed with a published RSA key: RFC 7519, and RS256 of RFC 7518, section 3.3. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { InvalidCallbackError } from '../callbacks.ts';
import type { JsonWebKey, PublishedKeys } from '../published-keys.ts';

/** How far the vendor's clock and ours may be apart. */
const LEEWAY_SECONDS = 60;
const MIN_MODULUS_BITS = 2048;

/**
 * Checks the signature with the key that the token names, and `exp` and `nbf`. The caller checks issuer and audience.
 *
 * @returns the token's claims
 * @throws InvalidCallbackError
 */
export async function verifyJsonWebToken(token: string, keys: PublishedKeys, nowMs: number): Promise<JsonObject> {
  const [header = '', payload = '', signature = '', ...others] = token.split('.');
  const { alg, kid } = documentIn(header);
  if (alg !== 'RS256' || others.length > 0) throw new InvalidCallbackError('the signature is not an RS256 token');
  const signed = Buffer.from(`${header}.${payload}`);
  const bytes = Buffer.from(signature, 'base64url');
  const isSigned = await keys.some((jwk) => {
    const key = jwk.kid === kid ? publicKeyOf(jwk) : null;
    return key !== null && verify('RSA-SHA256', signed, key, bytes);
  });
  if (!isSigned) throw new InvalidCallbackError('the token was not signed with a published key');
  const claims = documentIn(payload);
  assertCurrent(claims, nowMs / 1000);
  return claims;
}

function assertCurrent({ exp, nbf }: JsonObject, nowSeconds: number): void {
  const isExpired = typeof exp === 'number' && exp + LEEWAY_SECONDS < nowSeconds;
  const isEarly = typeof nbf === 'number' && nbf - LEEWAY_SECONDS > nowSeconds;
  if (isExpired || isEarly) throw new InvalidCallbackError('the token has expired, or is not valid yet');
}

/** @throws InvalidCallbackError unless the part is an object */
function documentIn(part: string): JsonObject {
  try {
    const document: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    if (isObject(document)) return document;
  } catch (error) {
    throw new InvalidCallbackError('the signature is not a token', { cause: error });
  }
  throw new InvalidCallbackError('the signature is not a token');
}

/** @returns null for another kind of key, and for a key that is too short */
function publicKeyOf({ kty, n, e }: JsonWebKey): KeyObject | null {
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return null;
  try {
    const key = createPublicKey({ key: { kty, n, e }, format: 'jwk' });
    return (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_MODULUS_BITS ? key : null;
  } catch {
    return null;
  }
}
