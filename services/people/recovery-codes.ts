/**
 * Ten codes for a user who lost the authenticator app. They are shown once, and each works once. The 80 random bits of
 * a code cannot be guessed, so the digests need no pepper.
 */
import type { Database } from '../../db/database.ts';
import { setRecoveryCodes, useRecoveryCode } from '../../db/queries/recovery-codes.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { newSecondFactorSecret } from './second-factor.ts';

const CODES = 10;
const GROUPS = /.{4}/g;
const LETTERS = 16;

/** Creates new codes, which replace the earlier ones. @returns codes such as `ABCD-EFGH-IJKL-MNOP` */
export async function makeRecoveryCodes(database: Database, userId: string): Promise<readonly string[]> {
  const codes = Array.from({ length: CODES }, () => newSecondFactorSecret().slice(0, LETTERS));
  await setRecoveryCodes(database, userId, codes.map(digestToken));
  return codes.map((code) => code.match(GROUPS)?.join('-') ?? code);
}

/** Uses a code up. @param typed with or without hyphens and spaces, in any case @returns whether it was right */
export function consumeRecoveryCode(database: Database, userId: string, typed: string): Promise<boolean> {
  return useRecoveryCode(database, userId, digestToken(typed.toUpperCase().replaceAll(/[^A-Z2-7]/g, '')));
}
