import { createLocalJWKSet, jwtVerify } from 'jose';
import { InvalidCallbackError } from '../callbacks.ts';
import type { PublishedKeys } from '../published-keys.ts';

/** How far the vendor's clock and ours may be apart. */
const LEEWAY_SECONDS = 60;

/**
 * Checks that a published RSA key signed a JSON Web Token (RFC 7519, with RS256), and that the token is valid now. Does
 * not check issuer and audience.
 *
 * @throws InvalidCallbackError
 */
export async function verifyJsonWebToken(token: string, keys: PublishedKeys, nowMs: number): Promise<void> {
  const options = { algorithms: ['RS256'], clockTolerance: LEEWAY_SECONDS, currentDate: new Date(nowMs) };
  const isSigned = await keys.some(async (key) => {
    try {
      await jwtVerify(token, createLocalJWKSet({ keys: [key] }), options);
      return true;
    } catch {
      return false;
    }
  });
  if (!isSigned) throw new InvalidCallbackError('the token has expired, or was not signed with a published key');
}
