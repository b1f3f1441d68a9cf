/** Codes from an authenticator app: RFC 6238 (TOTP) with SHA-1, six digits and 30 seconds, which all apps support. */
import { Secret, TOTP } from 'otpauth';
import type { Session } from '../../db/queries/sessions.ts';
import { type Encryption, DecryptionError } from '../../db/encryption.ts';

const STEP_SECONDS = 30;
const SECRET_BYTES = 20;

/** A new secret, in base32. */
export function newSecondFactorSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/**
 * The address that an authenticator app reads from a QR code, or takes as a link.
 *
 * @param issuer the name of the service, which the app shows
 */
export function secondFactorAddress(
  secret: string,
  { issuer, email }: { readonly issuer: string; readonly email: string },
): string {
  return new TOTP({ issuer, label: email, secret }).toString();
}

/** The code for a step of 30 seconds, counted from 1970. */
export function codeAt(secret: string, step: number): string {
  return new TOTP({ secret }).generate({ timestamp: step * STEP_SECONDS * 1_000 });
}

/** Whether a person typed a code from an app, rather than a recovery code. */
export function isAppCode(typed: string): boolean {
  return /^[\d\s]*$/.test(typed);
}

/**
 * The step that a code belongs to: the current one or a neighbour, since clocks differ.
 *
 * @returns null for a wrong code
 */
export function findTimeStep(secret: string, code: string, nowMs: number): number | null {
  const token = code.replaceAll(/\s/g, '');
  // The library throws on digits other than 0 to 9.
  if (!/^[0-9]{6}$/.test(token)) return null;
  const totp = new TOTP({ secret });
  const delta = totp.validate({ token, timestamp: nowMs, window: 1 });
  return delta === null ? null : totp.counter({ timestamp: nowMs }) + delta;
}

/**
 * Encrypts an offered secret for a form: only Genway can make the value, and only the session of the form
 * can return it.
 */
export function encryptOffer(encryption: Encryption, session: Session, secret: string): string {
  return encryption.encrypt(secret, contextOf(session)).toString('base64url');
}

/** The secret in a form; null when it was not made for this session. */
export function decryptOffer(encryption: Encryption, session: Session, offer: string): string | null {
  try {
    return encryption.decrypt(Buffer.from(offer, 'base64url'), contextOf(session));
  } catch (error) {
    if (error instanceof DecryptionError) return null;
    throw error;
  }
}

function contextOf({ user, digest }: Session): string {
  return `second factor offered to ${user.id} in ${digest.toString('hex')}`;
}
