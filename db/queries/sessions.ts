/** Sessions of the console, sign-in links, and attempts to sign in: see `db/schema/0008-people.sql`. */
import { type Database, secondsFromNow } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import { findUser, toUser, type User, type UserRow } from './users.ts';

export interface Session {
  readonly digest: Buffer;
  readonly user: User;
  /** The password was right, and the code of the second factor is missing. */
  readonly secondFactorPending: boolean;
  /** The issuer of the provider with which the user signed in; null for a password. */
  readonly issuer: string | null;
  readonly signedInAt: Date;
}

export interface NewSession {
  readonly digest: Buffer;
  readonly userId: string;
  readonly secondFactorPending: boolean;
  readonly issuer: string | null;
  readonly userAgent: string;
  readonly lifetimeSeconds: number;
}

interface SessionRow extends UserRow {
  second_factor_pending: boolean;
  issuer: string | null;
  signed_in_at: Date;
  is_noted: boolean;
}

const LINK_PURPOSES = ['invitation', 'new_password'] as const;
export type LinkPurpose = (typeof LINK_PURPOSES)[number];

export async function insertSession(database: Database, { lifetimeSeconds, ...session }: NewSession): Promise<void> {
  await database('sessions').insert({ ...columnsOf(session), expires_at: secondsFromNow(database, lifetimeSeconds) });
}

/**
 * Finds a session by its digest, and records its use.
 *
 * @param idleSeconds a session ends after so many seconds without use
 * @returns null if there is no session, it has ended, or its user is disabled
 */
export async function useSession(database: Database, digest: Buffer, idleSeconds: number): Promise<Session | null> {
  const { rows } = await database.raw<{ rows: SessionRow[] }>(
    /* sql */ `
    SELECT users.*, second_factor_pending, issuer, sessions.created_at AS signed_in_at, last_used_at > now() - interval '1 minute' AS is_noted
    FROM sessions JOIN users ON users.id = user_id
    WHERE digest = :digest AND expires_at > now() AND last_used_at > now() - :idleSeconds * interval '1 second' AND disabled_at IS NULL`,
    { digest, idleSeconds },
  );
  const [row] = rows;
  if (!row) return null;
  if (!row.is_noted) await database('sessions').where({ digest }).update({ last_used_at: database.fn.now() });
  const { second_factor_pending: secondFactorPending, issuer, signed_in_at: signedInAt } = row;
  return { digest, user: toUser(row), secondFactorPending, issuer, signedInAt };
}

/** Ends all but a user's most recently used sessions. Sessions that wait for a code are counted separately. */
export async function deleteOldSessions(
  database: Database,
  { userId, secondFactorPending }: Pick<NewSession, 'userId' | 'secondFactorPending'>,
  most: number,
): Promise<void> {
  const sessions = database('sessions').where({ user_id: userId, second_factor_pending: secondFactorPending });
  const old = sessions.clone().orderBy('last_used_at', 'desc').orderBy('created_at', 'desc').offset(most);
  await sessions.clone().whereIn('digest', old.select('digest')).delete();
}

export async function deleteSession(database: Database, digest: Buffer): Promise<void> {
  await database('sessions').where({ digest }).delete();
}

/** A session as its user sees it. */
export interface ListedSession {
  readonly digest: Buffer;
  readonly userAgent: string;
  readonly createdAt: Date;
  /** Accurate to a minute. */
  readonly lastUsedAt: Date;
}

/** Lists the sessions of a user, most recently used first. @param idleSeconds as for {@link useSession} */
export async function listSessions(
  database: Database,
  userId: string,
  idleSeconds: number,
): Promise<readonly ListedSession[]> {
  const { rows } = await database.raw<{ rows: RowOf<ListedSession>[] }>(
    /* sql */ `
    SELECT digest, user_agent, created_at, last_used_at FROM sessions
    WHERE user_id = :userId AND NOT second_factor_pending AND expires_at > now()
      AND last_used_at > now() - :idleSeconds * interval '1 second'
    ORDER BY last_used_at DESC, digest LIMIT 100`,
    { userId, idleSeconds },
  );
  return rows.map(camelCased);
}

/** Ends one of a user's sessions. @returns whether the user had the session */
export async function deleteUserSession(database: Database, userId: string, digest: Buffer): Promise<boolean> {
  return (await database('sessions').where({ user_id: userId, digest }).delete()) === 1;
}

/** Ends all sessions of a user, except the given one. */
export async function deleteUserSessions(database: Database, userId: string, but: Buffer | null): Promise<void> {
  const sessions = database('sessions').where({ user_id: userId });
  await (but ? sessions.whereNot({ digest: but }) : sessions).delete();
}

/** The owner of an account who makes a link for one of its members. The administration makes the other links. */
export interface LinkMaker {
  readonly accountId: string;
  readonly ownerId: string;
}

export async function insertUserLink(
  database: Database,
  {
    lifetimeSeconds,
    madeBy,
    ...link
  }: {
    readonly digest: Buffer;
    readonly userId: string;
    readonly purpose: LinkPurpose;
    readonly madeBy: LinkMaker | null;
    readonly lifetimeSeconds: number;
  },
): Promise<void> {
  await database('user_links').insert({
    ...columnsOf({ ...link, accountId: madeBy?.accountId, madeBy: madeBy?.ownerId }),
    expires_at: secondsFromNow(database, lifetimeSeconds),
  });
}

/** Deletes all links of a user. */
export async function deleteUserLinks(database: Database, userId: string): Promise<void> {
  await database('user_links').where({ user_id: userId }).delete();
}

/** Ends the links that an owner made for members of an account. */
export async function deleteOwnerLinks(database: Database, { accountId, ownerId }: LinkMaker): Promise<void> {
  await database('user_links').where({ account_id: accountId, made_by: ownerId }).delete();
}

export async function hasSession(database: Database, digest: Buffer): Promise<boolean> {
  return (await database('sessions').where({ digest }).first()) !== undefined;
}

/** A link works once, until it expires. An owner's link works only while its user belongs to no other account. */
const WORKS = /* sql */ `used_at IS NULL AND expires_at > now() AND (account_id IS NULL OR (
  (SELECT array_agg(account_members.account_id) FROM account_members
    WHERE account_members.user_id = user_links.user_id) = ARRAY[account_id]
  AND EXISTS (SELECT FROM users WHERE users.id = user_links.user_id AND staff_role IS NULL)))`;

/** Finds the user of a link; null if there is no link, or it no longer works. */
export async function findUserLink(database: Database, digest: Buffer): Promise<User | null> {
  const { rows } = await database.raw<{ rows: { user_id: string }[] }>(
    `SELECT user_id FROM user_links WHERE digest = :digest AND ${WORKS}`,
    { digest },
  );
  const [row] = rows;
  return row ? findUser(database, row.user_id) : null;
}

/**
 * Consumes a link and all other links of its user. Within a transaction, also blocks the user from joining an account.
 *
 * @returns the user of the link; null if there is no link, or it no longer works
 */
export async function consumeUserLink(database: Database, digest: Buffer): Promise<User | null> {
  await database.raw(
    'SELECT FROM users WHERE id = (SELECT user_id FROM user_links WHERE digest = :digest) FOR UPDATE',
    { digest },
  );
  const { rows } = await database.raw<{ rows: { user_id: string }[] }>(
    /* sql */ `
    WITH taken AS (
      UPDATE user_links SET used_at = now() WHERE digest = :digest AND ${WORKS} RETURNING user_id
    ), others AS (
      UPDATE user_links SET used_at = now() FROM taken
      WHERE user_links.user_id = taken.user_id AND used_at IS NULL AND digest <> :digest
    )
    SELECT user_id FROM taken`,
    { digest },
  );
  const [row] = rows;
  return row ? findUser(database, row.user_id) : null;
}

/** The counters, with the parts that name the subject of each, which clients may choose. */
export type AttemptSubject = readonly [
  counter:
    | 'password of address from network'
    | 'password of address'
    | 'password of user'
    | 'code of user'
    | 'code of user in a day'
    | 'password of link'
    | 'attempts from network'
    | 'provider from network'
    | 'link from network'
    | 'link to address'
    | 'links by owner'
    | 'invitations to address'
    | 'registrations from network'
    | 'registrations of address'
    | 'completions of registration'
    | 'address changes of user'
    | 'gift code of account'
    | 'gift code from network',
  ...parts: string[],
];

/** No parts of one subject can read as those of another. */
function nameOf(subject: AttemptSubject): string {
  return JSON.stringify(subject);
}

/** A limit of attempts by subject, such as a user or an address, in a window that starts with the first attempt. */
export interface AttemptLimit {
  readonly subject: AttemptSubject;
  readonly most: number;
  readonly windowSeconds: number;
}

/**
 * Counts an attempt towards each limit in turn, up to the first that refuses it.
 *
 * @returns whether the attempt may be made
 */
export async function claimSignInAttempts(database: Database, limits: readonly AttemptLimit[]): Promise<boolean> {
  for (const limit of limits) {
    if (!(await claimSignInAttempt(database, limit))) return false;
  }
  return true;
}

/**
 * Counts an attempt, unless there were too many recent ones. Also counts simultaneous attempts, each of which waits at
 * most for the single statement of another. A refused attempt writes nothing.
 */
async function claimSignInAttempt(
  database: Database,
  { subject, most, windowSeconds }: AttemptLimit,
): Promise<boolean> {
  const { rows } = await database.raw<{ rows: unknown[] }>(
    /* sql */ `
    INSERT INTO sign_in_attempts AS known (subject, attempts)
    SELECT :subject, 1
    WHERE NOT EXISTS (
      SELECT FROM sign_in_attempts WHERE subject = :subject AND attempts >= :most
        AND started_at > now() - :windowSeconds * interval '1 second')
    ON CONFLICT (subject) DO UPDATE SET
      attempts = CASE WHEN ${IS_CURRENT} THEN known.attempts + 1 ELSE 1 END,
      started_at = CASE WHEN ${IS_CURRENT} THEN known.started_at ELSE now() END
    WHERE known.attempts < :most OR NOT ${IS_CURRENT}
    RETURNING 1`,
    { subject: nameOf(subject), most, windowSeconds },
  );
  return rows.length === 1;
}

const IS_CURRENT = /* sql */ `(known.started_at > now() - :windowSeconds * interval '1 second')`;

/** Counts an attempt without a limit. @returns the attempts in the window, this one included */
export async function countSignInAttempt(
  database: Database,
  subject: AttemptSubject,
  windowSeconds: number,
): Promise<number> {
  const { rows } = await database.raw<{ rows: { attempts: number }[] }>(
    /* sql */ `
    INSERT INTO sign_in_attempts AS known (subject, attempts) VALUES (:subject, 1)
    ON CONFLICT (subject) DO UPDATE SET
      attempts = CASE WHEN ${IS_CURRENT} THEN known.attempts + 1 ELSE 1 END,
      started_at = CASE WHEN ${IS_CURRENT} THEN known.started_at ELSE now() END
    RETURNING attempts`,
    { subject: nameOf(subject), windowSeconds },
  );
  return rows[0]?.attempts ?? 0;
}

/** Uncounts a successful attempt, because many people may share an address. */
export async function uncountSignInAttempt(database: Database, subject: AttemptSubject): Promise<void> {
  await database('sign_in_attempts')
    .where({ subject: nameOf(subject) })
    .where('attempts', '>', 0)
    .decrement('attempts', 1);
}

/** Deletes all counted attempts of the subjects after a successful one. */
export async function deleteSignInAttempts(database: Database, ...subjects: readonly AttemptSubject[]): Promise<void> {
  await database('sign_in_attempts').whereIn('subject', subjects.map(nameOf)).delete();
}
