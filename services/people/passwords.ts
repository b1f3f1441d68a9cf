/** Passwords, kept as Argon2id: RFC 9106, with the second of OWASP's sets of parameters (19 MiB, two passes). */
import { hash, verify } from '@node-rs/argon2';

/** NIST SP 800-63B-4, section 3.1.1: length counts, not composition. */
export const PASSWORD_LENGTH = { min: 12, max: 200 } as const;

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** The hash to compare with when the user does not exist, so that both cases take equally long. */
let nobodysHash: Promise<string> | undefined;

export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize('NFKC'), PARAMETERS);
}

/** @param passwordHash null for an unknown user, or one without a password: the result is false, and takes as long */
export async function isPassword(password: string, passwordHash: string | null): Promise<boolean> {
  const known = passwordHash ?? (await (nobodysHash ??= hashPassword(crypto.randomUUID())));
  const isPossible = lengthOf(password) <= PASSWORD_LENGTH.max;
  const matches = await verify(known, isPossible ? password.normalize('NFKC') : '');
  return matches && isPossible && passwordHash !== null;
}

/** The length in characters. Some characters, such as emoji, are two units in JavaScript. */
export function lengthOf(password: string): number {
  return Array.from(password).length;
}
