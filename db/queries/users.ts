/** The people who sign in to the console: see `db/schema/0008-people.sql`. */
import type { NoticeKind } from '../../domain/mail.ts';
import type { AdminRole, MemberRole } from '../../domain/roles.ts';
import type { Database } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { camelCased, columnsOf, type OptionalFields, type RowOf } from '../row.ts';
import { containsPattern } from './search.ts';

/** A named list of the console with filters. */
export interface SavedView {
  readonly name: string;
  /** The path of the page, below the console. */
  readonly path: string;
  /** The filters, as in the URL. */
  readonly query: string;
}

export interface User {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  /** The user's role among the gateway's own staff; null for customers. */
  readonly staffRole: AdminRole | null;
  readonly hasPassword: boolean;
  readonly hasSecondFactor: boolean;
  readonly language: string;
  /** Latest first. */
  readonly savedViews: readonly SavedView[];
  /** The kinds of e-mails that the user switched off. */
  readonly unwantedMails: readonly string[];
  /** When the user was disabled; null for users who can sign in. */
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

/** The fields of a user that operators may change. An absent field does not change. */
export type UserDetails = OptionalFields<User, 'name' | 'staffRole'>;

export interface UserFilter {
  /** A part of the name or the e-mail address, or the whole id. */
  readonly search?: string | undefined;
  /** Only members of this account. */
  readonly accountId?: string | undefined;
  /** Only users with a staff role, or only users without. */
  readonly isStaff?: boolean | undefined;
  readonly isDisabled?: boolean | undefined;
}

/** The secrets that signing in checks. */
export interface UserSecrets {
  readonly passwordHash: string | null;
  /** Encrypted with the user's id. */
  readonly secondFactorSecret: Buffer | null;
}

/** An account that a user belongs to. */
export interface Membership {
  readonly accountId: string;
  readonly accountName: string;
  readonly role: MemberRole;
  readonly isSuspended: boolean;
  /** The account into which the account was merged; null if it was not. */
  readonly mergedInto: string | null;
}

export interface Member extends Pick<User, 'id' | 'email' | 'name' | 'hasPassword' | 'hasSecondFactor'> {
  readonly role: MemberRole;
}

export type UserRow = Omit<RowOf<User>, 'has_password' | 'has_second_factor'> & RowOf<UserSecrets>;

export interface NewUser extends Pick<User, 'id' | 'email' | 'name' | 'staffRole'> {
  readonly passwordHash: string | null;
}

/** @returns null if the e-mail address already belongs to a user */
export async function insertUser(database: Database, user: NewUser): Promise<User | null> {
  const [row] = await database('users').insert(columnsOf(user)).onConflict('email').ignore().returning<UserRow[]>('*');
  return row ? toUser(row) : null;
}

/** Users, newest first. @param before the id of the last user of the previous page */
export async function listUsers(
  database: Database,
  { search, accountId, isStaff, isDisabled, ...page }: UserFilter & IdPage,
): Promise<readonly User[]> {
  const query = database<UserRow>('users');
  if (search !== undefined) {
    const pattern = containsPattern(search);
    void query.whereRaw('(id = :search OR concat_ws(chr(10), name, email) ILIKE :pattern)', { search, pattern });
  }
  if (accountId !== undefined) {
    void query.whereIn('id', database('account_members').where({ account_id: accountId }).select('user_id'));
  }
  if (isStaff !== undefined) void (isStaff ? query.whereNotNull('staff_role') : query.whereNull('staff_role'));
  if (isDisabled !== undefined) void (isDisabled ? query.whereNotNull('disabled_at') : query.whereNull('disabled_at'));
  return (await newestFirst(query, page)).map(toUser);
}

/** Changes the given fields. */
export async function updateUser(database: Database, userId: string, { name, staffRole }: UserDetails): Promise<void> {
  const columns = columnsOf({ name, staffRole });
  if (Object.keys(columns).length > 0) await database('users').where({ id: userId }).update(columns);
}

/** Prevents the user from signing in. Keeps the time of an earlier call. */
export async function disableUser(database: Database, userId: string): Promise<void> {
  await database('users')
    .where({ id: userId })
    .update({ disabled_at: database.raw('coalesce(disabled_at, now())') });
}

export async function enableUser(database: Database, userId: string): Promise<void> {
  await database('users').where({ id: userId }).update({ disabled_at: null });
}

/** Removes a user with their memberships, sessions and links. @returns whether there was such a user */
export async function deleteUser(database: Database, userId: string): Promise<boolean> {
  const { rows } = await database.raw<{ rows: unknown[] }>(
    /* sql */ `
    WITH erased AS (DELETE FROM users WHERE id = :userId RETURNING email),
      mails AS (DELETE FROM mails USING erased WHERE address = email)
    SELECT FROM erased`,
    { userId },
  );
  return rows.length === 1;
}

export async function findUser(database: Database, userId: string): Promise<User | null> {
  const row = await database<UserRow>('users').where({ id: userId }).first();
  return row ? toUser(row) : null;
}

/** @param email in lower case */
export async function findUserByEmail(
  database: Database,
  email: string,
): Promise<{ readonly user: User; readonly secrets: UserSecrets } | null> {
  const row = await database<UserRow>('users').where({ email }).first();
  return row ? { user: toUser(row), secrets: toSecrets(row) } : null;
}

export async function findUserSecrets(database: Database, userId: string): Promise<UserSecrets | null> {
  const row = await database<UserRow>('users').where({ id: userId }).first();
  return row ? toSecrets(row) : null;
}

export async function setPassword(database: Database, userId: string, passwordHash: string): Promise<void> {
  await database('users').where({ id: userId }).update({ password_hash: passwordHash });
}

/** @param email in lower case @throws an error of the database if another user has the address */
export async function setEmail(database: Database, userId: string, email: string): Promise<void> {
  await database('users').where({ id: userId }).update({ email });
}

export async function setLanguage(database: Database, userId: string, language: string): Promise<void> {
  await database('users').where({ id: userId }).update({ language });
}

export async function setUnwantedMails(
  database: Database,
  userId: string,
  kinds: readonly NoticeKind[],
): Promise<void> {
  await database('users')
    .where({ id: userId })
    .update({ unwanted_mails: [...kinds] });
}

/** The most devices of a user. A new device replaces the oldest one. */
const MAX_DEVICES = 30;

/**
 * Remembers the device of a sign-in.
 *
 * @returns whether the device is new, and not the first one of the user
 */
export async function rememberDevice(database: Database, userId: string, digest: Buffer): Promise<boolean> {
  const { rows } = await database.raw<{ rows: { count: number }[] }>(
    /* sql */ `
    UPDATE users SET known_devices = (known_devices || :digest::bytea)[greatest(1, cardinality(known_devices) + 2 - :most):]
    WHERE id = :userId AND NOT :digest::bytea = ANY (known_devices)
    RETURNING cardinality(known_devices) AS count`,
    { userId, digest, most: MAX_DEVICES },
  );
  return rows[0] !== undefined && rows[0].count > 1;
}

/** The most views of a user. A new view replaces the oldest one. */
const MAX_VIEWS = 50;

/** Saves a view. Replaces the view of the same page with the same name. */
export async function saveView(database: Database, userId: string, view: SavedView): Promise<void> {
  await changeViews(database, userId, view, [view]);
}

export async function deleteView(
  database: Database,
  userId: string,
  view: Pick<SavedView, 'path' | 'name'>,
): Promise<void> {
  await changeViews(database, userId, view, []);
}

async function changeViews(
  database: Database,
  userId: string,
  { path, name }: Pick<SavedView, 'path' | 'name'>,
  saved: readonly SavedView[],
): Promise<void> {
  await database.raw(
    /* sql */ `
    UPDATE users SET saved_views = :saved::jsonb || (
      SELECT coalesce(jsonb_agg(view ORDER BY number), '[]')
      FROM jsonb_array_elements(saved_views) WITH ORDINALITY AS kept (view, number)
      WHERE (view->>'path', view->>'name') <> (:path, :name) AND number < :most
    ) WHERE id = :userId`,
    { saved: JSON.stringify(saved), path, name, most: MAX_VIEWS, userId },
  );
}

/** @param step the step of the code with which the user proved to have the secret; the code cannot be used again */
export async function setSecondFactor(
  database: Database,
  userId: string,
  { encryptedSecret, step }: { readonly encryptedSecret: Buffer; readonly step: number },
): Promise<void> {
  await database('users')
    .where({ id: userId })
    .update({ second_factor_secret: encryptedSecret, second_factor_step: step });
}

/** Removes the second factor, with its recovery codes. */
export async function removeSecondFactor(database: Database, userId: string): Promise<void> {
  await database('users').where({ id: userId }).update({ second_factor_secret: null, second_factor_step: null });
  await database('recovery_codes').where({ user_id: userId }).delete();
}

/**
 * Consumes a code of the second factor, which works once.
 *
 * @param step the number of the code's 30-second period since 1970
 * @returns false if a code of this step or a later one was used before
 */
export async function useSecondFactorStep(database: Database, userId: string, step: number): Promise<boolean> {
  const updated = await database('users')
    .where({ id: userId })
    .whereRaw('coalesce(second_factor_step, -1) < :step', { step })
    .update({ second_factor_step: step });
  return updated === 1;
}

/** Lists the accounts of a user, ordered by name. */
export async function listMemberships(database: Database, userId: string): Promise<readonly Membership[]> {
  const { rows } = await database.raw<{ rows: RowOf<Membership>[] }>(
    /* sql */ `
    SELECT account_id, name AS account_name, role, suspended_at IS NOT NULL AS is_suspended, merged_into
    FROM account_members JOIN accounts ON id = account_id WHERE user_id = :userId ORDER BY name, id`,
    { userId },
  );
  return rows.map(camelCased);
}

/** Lists the members of an account, ordered by name. */
export async function listMembers(database: Database, accountId: string): Promise<readonly Member[]> {
  const { rows } = await database.raw<{ rows: (UserRow & { readonly role: MemberRole })[] }>(
    /* sql */ `
    SELECT users.*, role FROM account_members JOIN users ON id = user_id WHERE account_id = :accountId ORDER BY name, id`,
    { accountId },
  );
  return rows.map((row) => ({ ...toUser(row), role: row.role }));
}

/** A member of an account, locked for a change of the members. */
export interface LockedMember {
  readonly userId: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly language: string;
  readonly isStaff: boolean;
  readonly isDisabled: boolean;
}

/** Locks the members of an account until the transaction ends. */
export async function lockMembers(database: Database, accountId: string): Promise<readonly LockedMember[]> {
  const { rows } = await database.raw<{ rows: LockedMember[] }>(
    /* sql */ `
    SELECT user_id AS "userId", email, role, language, staff_role IS NOT NULL AS "isStaff", disabled_at IS NOT NULL AS "isDisabled"
    FROM account_members JOIN users ON users.id = user_id
    WHERE account_id = :accountId ORDER BY user_id FOR UPDATE OF account_members`,
    { accountId },
  );
  return rows;
}

/** Locks the user until the transaction ends. */
export async function lockUser(database: Database, userId: string): Promise<void> {
  await database('users').where({ id: userId }).forUpdate().first();
}

interface NewMember {
  readonly accountId: string;
  readonly userId: string;
  readonly role: MemberRole;
}

/** Makes a user a member of an account. An existing member keeps the role. */
export async function addMember(database: Database, member: NewMember): Promise<void> {
  await insertMember(database, member).ignore();
}

/** Makes a user a member of an account, or changes the role of an existing member. */
export async function setMember(database: Database, member: NewMember): Promise<void> {
  await insertMember(database, member).merge(['role']);
}

function insertMember(database: Database, { accountId, userId, role }: NewMember) {
  const row = { account_id: accountId, user_id: userId, role };
  return database('account_members').insert(row).onConflict(['account_id', 'user_id']);
}

/** @returns whether the user was a member */
export async function removeMember(database: Database, accountId: string, userId: string): Promise<boolean> {
  return (await database('account_members').where({ account_id: accountId, user_id: userId }).delete()) === 1;
}

export function toUser(row: UserRow): User {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    staffRole: row.staff_role,
    hasPassword: row.password_hash !== null,
    hasSecondFactor: row.second_factor_secret !== null,
    language: row.language,
    savedViews: row.saved_views,
    unwantedMails: row.unwanted_mails,
    disabledAt: row.disabled_at,
    createdAt: row.created_at,
  };
}

function toSecrets(row: UserRow): UserSecrets {
  return { passwordHash: row.password_hash, secondFactorSecret: row.second_factor_secret };
}
