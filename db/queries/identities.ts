/** The identities of users at providers of OpenID Connect: see `db/schema/0008-people.sql`. */
import type { Database } from '../database.ts';
import { deleteUserLinks } from './sessions.ts';
import { toUser, type User, type UserRow } from './users.ts';

export interface IdentityKey {
  readonly issuer: string;
  readonly subject: string;
}

/** Finds the user of an identity, even if disabled; null if the identity belongs to nobody. */
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

/** SQL for the id of an identity, unique within its user. */
const ID = /* sql */ `encode(sha256(convert_to(issuer || E'\\n' || subject, 'UTF8')), 'hex')`;

/** Lists the identities with which a user can sign in, in the order in which they were connected. */
export async function listIdentities(database: Database, userId: string): Promise<readonly ListedIdentity[]> {
  const { rows } = await database.raw<{ rows: ListedIdentity[] }>(
    /* sql */ `
    SELECT ${ID} AS id, issuer, subject, created_at AS "createdAt" FROM user_identities
    WHERE user_id = :userId ORDER BY created_at, id`,
    { userId },
  );
  return rows;
}

/** @returns whether the user had the identity */
export async function deleteIdentity(database: Database, userId: string, id: string): Promise<boolean> {
  return (await database('user_identities').where({ user_id: userId }).whereRaw(`${ID} = :id`, { id }).delete()) === 1;
}

/** @returns false if the identity already belongs to a user */
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
 * Adds an identity to the user with the address whose invitation is still open: the user has neither a password nor
 * another identity, and is not disabled. Deletes the links of the invitation.
 *
 * @param email in lower case
 * @returns the user; null if there is no such user
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
