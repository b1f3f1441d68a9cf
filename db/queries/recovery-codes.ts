/** One-time codes to sign in without the authenticator app: see `db/schema/0008-people.sql`. */
import type { Database } from '../database.ts';

/** Replaces all codes of the user. */
export async function setRecoveryCodes(database: Database, userId: string, digests: readonly Buffer[]): Promise<void> {
  await database('recovery_codes').where({ user_id: userId }).delete();
  if (digests.length > 0)
    await database('recovery_codes').insert(digests.map((digest) => ({ user_id: userId, digest })));
}

/** Consumes a code. @returns whether the user had the code */
export async function useRecoveryCode(database: Database, userId: string, digest: Buffer): Promise<boolean> {
  return (await database('recovery_codes').where({ user_id: userId, digest }).delete()) === 1;
}

/** Counts the user's unused codes. */
export async function countRecoveryCodes(database: Database, userId: string): Promise<number> {
  const codes = await database('recovery_codes').where({ user_id: userId }).select('digest');
  return codes.length;
}
