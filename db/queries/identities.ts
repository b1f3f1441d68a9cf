/** Whom providers of OpenID Connect mean: see `db/migrations/0008-people.ts`. */
import type { Database } from '../database.ts';
import { deleteUserLinks } from './sessions.ts';
import { toUser, type User, type UserRow } from './users.ts';

export interface IdentityKey {
  readonly issuer: string;
  readonly subject: string;
}

/** Whose identity it is, disabled or not; null when it is nobody's yet. */
export async function findUserOfIdentity(database: Database, { issuer, subject }: IdentityKey): Promise<User | null> {
  const row = await database<UserRow>('users')
    .whereIn('id', database('user_identities').where({ issuer, subject }).select('user_id'))
    .first();
  return row ? toUser(row) : null;
}

/** An identity as the administration sees it. */
export interface ListedIdentity extends IdentityKey {
  readonly id: string;
  readonly createdAt: Date;
}

/** Names an identity within its user. */
const ID = /* sql */ `encode(sha256(convert_to(issuer || E'\\n' || subject, 'UTF8')), 'hex')`;

/** With whom a user may sign in, in the order in which they were connected. */
export async function listIdentities(database: Database, userId: string): Promise<readonly ListedIdentity[]> {
  const { rows } = await database.raw<{ rows: ListedIdentity[] }>(
    /* sql */ `
    SELECT ${ID} AS id, issuer, subject, created_at AS "createdAt" FROM user_identities
    WHERE user_id = ? ORDER BY created_at, id`,
    [userId],
  );
  return rows;
}

/** @returns whether the user had it */
export async function deleteIdentity(database: Database, userId: string, id: string): Promise<boolean> {
  return (await database('user_identities').where({ user_id: userId }).whereRaw(`${ID} = ?`, [id]).delete()) === 1;
}

/** Whether a provider knows the user. */
export async function hasIdentity(database: Database, userId: string, issuer: string): Promise<boolean> {
  return (await database('user_identities').where({ user_id: userId, issuer }).first()) !== undefined;
}

/** @returns false when it is somebody's already */
export async function insertIdentity(
  database: Database,
  userId: string,
  { issuer, subject }: IdentityKey,
): Promise<boolean> {
  const inserted = await database('user_identities')
    .insert({ issuer, subject, user_id: userId })
    .onConflict(['issuer', 'subject'])
    .ignore()
    .returning('user_id');
  return inserted.length === 1;
}

/**
 * Gives an identity to the user with that address whose invitation is still open: who has neither a password nor another
 * identity, and is not disabled. The invitation's links end with it.
 *
 * @param email in lower case
 * @returns the user; null when there is no such one
 */
export function acceptInvitation(database: Database, email: string, identity: IdentityKey): Promise<User | null> {
  return database.transaction(async (transaction) => {
    const row = await transaction<UserRow>('users')
      .where({ email, password_hash: null, disabled_at: null })
      .forUpdate()
      .first();
    if (!row || (await transaction('user_identities').where({ user_id: row.id }).first()) !== undefined) return null;
    if (!(await insertIdentity(transaction, row.id, identity))) return null;
    await deleteUserLinks(transaction, row.id);
    return toUser(row);
  });
}

export async function deleteAllIdentities(database: Database, userId: string): Promise<void> {
  await database('user_identities').where({ user_id: userId }).delete();
}

export async function deleteIdentities(database: Database, userId: string, issuer: string): Promise<void> {
  await database('user_identities').where({ user_id: userId, issuer }).delete();
}
