/** Codes from an authenticator app: RFC 6238 (TOTP) with SHA-1, six digits and 30 seconds, which all apps understand. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Session } from '../../../db/queries/sessions.ts';
import { type Sealer, SealBrokenError } from '../../../db/sealing.ts';
import { isSameSecret } from '../../../net/same-secret.ts';

const STEP_SECONDS = 30;
const DIGITS = 6;
const SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A new secret, in base32. */
export function newSecondFactorSecret(): string {
  let bits = '';
  for (const byte of randomBytes(SECRET_BYTES)) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('');
}

/** The address that an authenticator app reads from a QR code, or takes as a link. */
export function secondFactorAddress(secret: string, email: string): string {
  const label = encodeURIComponent(`Genway:${email}`);
  return `otpauth://totp/${label}?secret=${secret}&issuer=Genway&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`;
}

/** The code for a step of 30 seconds, counted from 1970. */
export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** Whether that is what an app shows, rather than a recovery code. */
export function isAppCode(typed: string): boolean {
  return /^[\d\s]*$/.test(typed);
}

/**
 * The step that a code belongs to: the present one or a neighbour, since clocks differ.
 *
 * @returns null for a wrong code
 */
export function stepOfCode(secret: string, code: string, nowMs: number): number | null {
  const given = Buffer.from(code.replaceAll(/\s/g, ''));
  const present = Math.floor(nowMs / 1000 / STEP_SECONDS);
  const steps = [present - 1, present, present + 1];
  return steps.find((step) => isSameSecret(Buffer.from(codeAt(secret, step)), given)) ?? null;
}

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/**
 * Puts a secret that is being offered into a form, so that nobody but Genway can have made it, and only the session that it
 * was made for can bring it back.
 */
export function sealOffer(sealer: Sealer, session: Session, secret: string): string {
  return sealer.seal(secret, contextOf(session)).toString('base64url');
}

/** The secret in a form; null when it was not made for this session. */
export function openOffer(sealer: Sealer, session: Session, offer: string): string | null {
  try {
    return sealer.open(Buffer.from(offer, 'base64url'), contextOf(session));
  } catch (error) {
    if (error instanceof SealBrokenError) return null;
    throw error;
  }
}

function contextOf({ user, digest }: Session): string {
  return `second factor offered to ${user.id} in ${digest.toString('hex')}`;
}
