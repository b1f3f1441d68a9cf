/**
 * Sessions of the console: a random token in a cookie that only this origin can set and read, and its digest in
 * PostgreSQL. OWASP Session Management and Cross-Site Request Forgery Prevention cheat sheets.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import {
  deleteOldSessions,
  deleteSession,
  hasSession,
  insertSession,
  type ListedSession,
  listSessions,
  type NewSession,
  type Session,
  useSession,
} from '../../db/queries/sessions.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { lockUser, rememberDevice, type User } from '../../db/queries/users.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { deviceOf } from '../../domain/device.ts';
import { isSameSecret } from '../../domain/same-secret.ts';
import { subnetOf } from './network.ts';

/** Because of the prefix, browsers refuse the cookie from another host or over plain HTTP. */
export const SESSION_COOKIE = '__Host-genway-session';

const TOKEN_BYTES = 32;
export const SESSION_LIFETIME_SECONDS = 30 * 24 * 3600;
const IDLE_SECONDS = 7 * 24 * 3600;
/** Sessions of a user, one per browser. Above this number, the least recently used sessions end. */
const MAX_SESSIONS = 50;
/** The time for entering the code of the second factor. */
const PENDING_LIFETIME_SECONDS = 10 * 60;

/** How long after a sign-in a user without a password may do what requires the password. */
export const RECENT_MINUTES = 10;

/** A session with the token that its forms must carry. */
export interface OpenSession extends Session {
  readonly formToken: string;
}

/** A user whose password, or answer of a provider, was right. */
interface SignedIn extends Pick<NewSession, 'secondFactorPending' | 'issuer' | 'userAgent'> {
  readonly user: Pick<User, 'id' | 'email'>;
  readonly ip: string;
}

/** @returns the token for the cookie */
export async function openSession(database: Database, { user, ip, ...session }: SignedIn): Promise<string> {
  const token = newToken();
  const digest = digestToken(token);
  const userId = user.id;
  const lifetimeSeconds = session.secondFactorPending ? PENDING_LIFETIME_SECONDS : SESSION_LIFETIME_SECONDS;
  await database.transaction(async (transaction) => {
    const userAgent = session.userAgent.slice(0, 200);
    await insertSession(transaction, { ...session, userId, digest, userAgent, lifetimeSeconds });
    await deleteOldSessions(transaction, { ...session, userId }, MAX_SESSIONS);
    if (!session.secondFactorPending) await noteDevice(transaction, user, { digest, userAgent, ip });
  });
  return token;
}

/** Tells the user about a sign-in from a new kind of device or another network, except for the first one. */
async function noteDevice(
  transaction: Database,
  { id: userId, email }: SignedIn['user'],
  { digest, userAgent, ip }: Pick<SignedIn, 'userAgent' | 'ip'> & Pick<NewSession, 'digest'>,
): Promise<void> {
  const [device, network] = [deviceOf(userAgent) ?? '', subnetOf(ip)];
  if (!(await rememberDevice(transaction, userId, digestToken(JSON.stringify([device, network]))))) return;
  const reference = `new_device:${digest.toString('base64url')}`;
  const facts = { device, network, at: new Date().toISOString() };
  await orderMail(transaction, { kind: 'new_device', address: email, userId, reference, facts });
}

/** @returns null when the token belongs to no session, or to one that has ended */
export async function findSession(database: Database, token: string | undefined): Promise<OpenSession | null> {
  if (token === undefined) return null;
  const session = await useSession(database, digestToken(token), IDLE_SECONDS);
  return session && { ...session, formToken: formTokenOf(token) };
}

export async function closeSession(database: Database, session: Session): Promise<void> {
  await deleteSession(database, session.digest);
}

/**
 * Changes a user if the session is open under the user's lock: a caller that ends the user's sessions, for example
 * after a new password, also prevents the changes that wait for the lock.
 *
 * @returns null when the session has ended
 */
export function inOpenSession<Result>(
  database: Database,
  { user, digest }: Session,
  change: (transaction: Database) => Promise<Result>,
): Promise<Result | null> {
  return database.transaction(async (transaction) => {
    await lockUser(transaction, user.id);
    return (await hasSession(transaction, digest)) ? change(transaction) : null;
  });
}

/** A user's open sessions, the one used last first. */
export function listOpenSessions(database: Database, userId: string): Promise<readonly ListedSession[]> {
  return listSessions(database, userId, IDLE_SECONDS);
}

/** Whether the user signed in a moment ago, which replaces the password of a user who signs in with a provider. */
export function isRecentSignIn({ signedInAt }: Session, nowMs: number): boolean {
  return nowMs - signedInAt.getTime() <= RECENT_MINUTES * 60_000;
}

/** Whether a form was made for this session. */
export function isFormToken(session: OpenSession, given: string): boolean {
  return isSameSecret(Buffer.from(session.formToken), Buffer.from(given));
}

/** A token for cookies and links, which cannot be guessed. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function formTokenOf(token: string): string {
  return createHmac('sha256', token).update('form').digest('base64url');
}
