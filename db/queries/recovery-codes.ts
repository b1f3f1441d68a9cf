/** The codes that let somebody in without the authenticator app, each once: see `db/migrations/0008-people.ts`. */
import type { Database } from '../database.ts';

/** Puts these codes in the place of all that the user had. */
export async function setRecoveryCodes(database: Database, userId: string, digests: readonly Buffer[]): Promise<void> {
  await database('recovery_codes').where({ user_id: userId }).delete();
  if (digests.length > 0)
    await database('recovery_codes').insert(digests.map((digest) => ({ user_id: userId, digest })));
}

/** Uses a code up. @returns whether it was one of the user's */
export async function useRecoveryCode(database: Database, userId: string, digest: Buffer): Promise<boolean> {
  return (await database('recovery_codes').where({ user_id: userId, digest }).delete()) === 1;
}

/** How many are left. */
export async function countRecoveryCodes(database: Database, userId: string): Promise<number> {
  const codes = await database('recovery_codes').where({ user_id: userId }).select('digest');
  return codes.length;
}
