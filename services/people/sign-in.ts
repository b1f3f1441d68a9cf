/** Sign-in by a password and, if the user has one, a second factor; and links by which a user chooses a password. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { deleteAllIdentities } from '../../db/queries/identities.ts';
import { type NewMail, orderMail } from '../../db/queries/mails.ts';
import {
  type AttemptLimit,
  type AttemptSubject,
  claimSignInAttempts,
  countSignInAttempt,
  deleteSignInAttempts,
  uncountSignInAttempt,
  deleteUserSessions,
  deleteUserLinks,
  findUserLink,
  insertUserLink,
  type LinkMaker,
  type LinkPurpose,
  type Session,
  consumeUserLink,
} from '../../db/queries/sessions.ts';
import {
  findUserByEmail,
  findUserSecrets,
  setPassword,
  type User,
  useSecondFactorStep,
} from '../../db/queries/users.ts';
import { isEmailAddress } from '../../domain/email-address.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { hashPassword, isPassword, lengthOf, PASSWORD_LENGTH } from './passwords.ts';
import { networkOf } from './network.ts';
import { consumeRecoveryCode } from './recovery-codes.ts';
import { isAppCode, findTimeStep } from './second-factor.ts';
import { inOpenSession, newToken } from './sessions.ts';

/** Attempts on one user from one network in 15 minutes. An attacker on another network locks nobody out. */
const MAX_ATTEMPTS = 10;
/** Attempts from one network on all users: many people may share a network. */
const MAX_NETWORK_ATTEMPTS = 50;
/** Attempts on one user from all networks, after which each attempt waits longer than the one before. */
const MAX_QUICK_ATTEMPTS = 10;
const SLOWER_BY_MS = 200;
const MAX_PAUSE_MS = 5_000;
/** Answers of a provider. The limit is higher, since nothing can be guessed: an answer only costs a request. */
const MAX_PROVIDER_ANSWERS = 100;
/** Links to one address. The limit is lower, since each link is an e-mail. */
const MAX_LINKS = 3;
/**
 * Wrong codes of one user in a day. Three of a million codes are right at a time, so that an attacker who knows the
 * password and tries as many every day needs decades.
 */
const MAX_CODES_A_DAY = 30;
const DAY_SECONDS = 24 * 3600;
const ATTEMPTS_WINDOW_SECONDS = 15 * 60;
const LINK_LIFETIME_SECONDS = 3 * 24 * 3600;

export type SignIn = { readonly user: User } | 'wrong' | 'too many';

/** Takes about as long for an unknown address as for a known one. A text that is no address counts for nobody. */
export async function checkPassword(
  database: Database,
  { email, password, ip }: { readonly email: string; readonly password: string; readonly ip: string },
): Promise<SignIn> {
  const address = email.toLowerCase();
  if (!isEmailAddress(address)) return (await isTooMany(database, ofNetwork(ip))) ? 'too many' : 'wrong';
  const from: AttemptSubject = ['password of address from network', address, networkOf(ip)];
  if (await isTooMany(database, lately(from), ofNetwork(ip))) return 'too many';
  const anywhere: AttemptSubject = ['password of address', address];
  await sleep(pauseAfter(await countSignInAttempt(database, anywhere, ATTEMPTS_WINDOW_SECONDS)));
  const found = await findUserByEmail(database, address);
  const isRight = await isPassword(password, found?.secrets.passwordHash ?? null);
  if (!found || !isRight || found.user.disabledAt !== null) return 'wrong';
  await deleteSignInAttempts(database, anywhere, from);
  await uncountSignInAttempt(database, ofNetwork(ip).subject);
  return { user: found.user };
}

/** How long an attempt waits, without a connection. @param attempts on the user, including this one */
export function pauseAfter(attempts: number): number {
  return Math.min(Math.max(0, attempts - MAX_QUICK_ATTEMPTS) * SLOWER_BY_MS, MAX_PAUSE_MS);
}

/** Checks the password of a signed-in user again, before a change that would lock the owner out. */
export async function confirmPassword(
  database: Database,
  user: User,
  password: string,
): Promise<'right' | 'wrong' | 'too many'> {
  const subject: AttemptSubject = ['password of user', user.id];
  if (await isTooMany(database, lately(subject))) return 'too many';
  const secrets = await findUserSecrets(database, user.id);
  if (!(await isPassword(password, secrets?.passwordHash ?? null))) return 'wrong';
  await deleteSignInAttempts(database, subject);
  return 'right';
}

export type CodeCheck = 'right' | 'wrong' | 'too many';

/** Checks a code of the authenticator app, which must not have been used before, or one of the recovery codes. */
export async function checkSecondFactor(
  { database, encryption }: { readonly database: Database; readonly encryption: Encryption },
  given: { readonly user: User; readonly code: string; readonly nowMs: number },
): Promise<CodeCheck> {
  const { user, code, nowMs } = given;
  const recent = lately(['code of user', user.id]);
  const today = {
    subject: ['code of user in a day', user.id],
    most: MAX_CODES_A_DAY,
    windowSeconds: DAY_SECONDS,
  } satisfies AttemptLimit;
  if (await isTooMany(database, recent, today)) return 'too many';
  const isRight = isAppCode(code)
    ? await isCodeOfApp({ database, encryption }, { user, code, nowMs })
    : await consumeRecoveryCode(database, user.id, code);
  if (!isRight) return 'wrong';
  await deleteSignInAttempts(database, recent.subject, today.subject);
  return 'right';
}

async function isCodeOfApp(
  { database, encryption }: { readonly database: Database; readonly encryption: Encryption },
  { user, code, nowMs }: { readonly user: User; readonly code: string; readonly nowMs: number },
): Promise<boolean> {
  const secrets = await findUserSecrets(database, user.id);
  if (!secrets?.secondFactorSecret) return false;
  const step = findTimeStep(encryption.decrypt(secrets.secondFactorSecret, user.id), code, nowMs);
  return step !== null && (await useSecondFactorStep(database, user.id, step));
}

/** Changes the password of a signed-in user. Ends every other session, and the links that were sent. */
export async function changePassword(
  database: Database,
  { user, password, session }: { readonly user: User; readonly password: string; readonly session: Session },
): Promise<void> {
  const passwordHash = await hashPassword(password);
  await inOpenSession(database, session, async (transaction) => {
    await setPassword(transaction, user.id, passwordHash);
    await deleteUserSessions(transaction, user.id, session.digest);
    await deleteUserLinks(transaction, user.id);
    await orderPasswordChanged(transaction, user);
  });
}

async function isTooMany(database: Database, ...limits: readonly AttemptLimit[]): Promise<boolean> {
  return !(await claimSignInAttempts(database, limits));
}

function lately(subject: AttemptSubject, most = MAX_ATTEMPTS): AttemptLimit {
  return { subject, most, windowSeconds: ATTEMPTS_WINDOW_SECONDS };
}

function ofNetwork(ip: string): AttemptLimit {
  return lately(['attempts from network', networkOf(ip)], MAX_NETWORK_ATTEMPTS);
}

/**
 * Hashes the password that the holder of a link chooses. A hash costs as much as a sign-in, so attempts are limited
 * too.
 *
 * @param digest the digest of the link
 * @returns null when there were too many attempts
 */
export async function hashChosenPassword(
  database: Database,
  { digest, password, ip }: { readonly digest: Buffer; readonly password: string; readonly ip: string },
): Promise<string | null> {
  const link: AttemptSubject = ['password of link', digest.toString('base64url')];
  if (await isTooMany(database, ofNetwork(ip), lately(link))) return null;
  return hashPassword(password);
}

/** Stops counting the attempt of a link that was used: many people may share a network. */
export function uncountLinkAttempt(database: Database, ip: string): Promise<void> {
  return uncountSignInAttempt(database, ofNetwork(ip).subject);
}

/** Whether another sign-in with OpenID Connect is allowed from a network address. */
export async function canAskProvider(database: Database, ip: string): Promise<boolean> {
  return !(await isTooMany(database, lately(['provider from network', networkOf(ip)], MAX_PROVIDER_ANSWERS)));
}

/**
 * Orders an e-mail with a link to an address. The sender checks later whether a user has the address, so that neither
 * the answer nor its time reveals it.
 *
 * @returns false when there were too many requests
 */
export async function requestLinkMail(
  database: Database,
  { email, ip }: { readonly email: string; readonly ip: string },
): Promise<boolean> {
  const address = email.toLowerCase();
  const isAddress = isEmailAddress(address);
  const toAddress = isAddress ? [lately(['link to address', address], MAX_LINKS)] : [];
  if (await isTooMany(database, lately(['link from network', networkOf(ip)]), ...toAddress)) return false;
  if (isAddress) await orderMail(database, passwordLink(address));
  return true;
}

/** The order of an e-mail with a link by which the user with the address chooses a password. */
export function passwordLink(address: string): NewMail {
  return { kind: 'password_link', address, reference: null };
}

function orderPasswordChanged(transaction: Database, { id, email }: User): Promise<void> {
  return orderMail(transaction, { kind: 'password_changed', address: email, userId: id, reference: null });
}

/** Orders the e-mail that welcomes a customer, once for ever. @param facts whether an operator `approved` the customer */
export async function orderWelcome(
  transaction: Database,
  { id, email, staffRole }: User,
  facts: { readonly approved?: 'yes' } = {},
): Promise<void> {
  if (staffRole !== null) return;
  await orderMail(transaction, { kind: 'welcome', address: email, userId: id, reference: `welcome:${id}`, facts });
}

/**
 * Makes a link that lets a user choose a password, once.
 *
 * @param madeBy an owner, whose link works while its user belongs to no other account
 * @returns its path
 */
export async function makeLink(
  database: Database,
  userId: string,
  purpose: LinkPurpose,
  madeBy: LinkMaker | null = null,
): Promise<string> {
  const token = newToken();
  await insertUserLink(database, {
    digest: digestToken(token),
    userId,
    purpose,
    madeBy,
    lifetimeSeconds: LINK_LIFETIME_SECONDS,
  });
  return `/console/welcome/${token}`;
}

/** The user of a link; null if the link no longer works. */
export function findLink(database: Database, token: string): Promise<User | null> {
  return findUserLink(database, digestToken(token));
}

/** The fault of a new password; null if there is none. */
export function passwordFault(password: string, repeated: string): 'too short' | 'too long' | 'different' | null {
  const length = lengthOf(password);
  if (length < PASSWORD_LENGTH.min) return 'too short';
  if (length > PASSWORD_LENGTH.max) return 'too long';
  return password === repeated ? null : 'different';
}

/**
 * Sets the password by a link, which works once. Ends all sessions of the user and disconnects all providers: an
 * earlier holder of the link may have connected one.
 *
 * @returns `over` when the link no longer works
 */
export async function choosePassword(
  database: Database,
  { token, password, ip }: { readonly token: string; readonly password: string; readonly ip: string },
): Promise<{ readonly user: User } | 'over' | 'too many'> {
  const digest = digestToken(token);
  const passwordHash = await hashChosenPassword(database, { digest, password, ip });
  if (passwordHash === null) return 'too many';
  const user = await database.transaction(async (transaction) => {
    const found = await consumeUserLink(transaction, digest);
    if (!found || found.disabledAt !== null) return null;
    await setPassword(transaction, found.id, passwordHash);
    await deleteUserSessions(transaction, found.id, null);
    await deleteAllIdentities(transaction, found.id);
    await (found.hasPassword ? orderPasswordChanged(transaction, found) : orderWelcome(transaction, found));
    return found;
  });
  if (!user) return 'over';
  await uncountLinkAttempt(database, ip);
  return { user };
}
