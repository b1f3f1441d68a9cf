/**
 * Sign-in with an OpenID Connect provider. Issuer and subject identify a user: a provider never reassigns them. An
 * e-mail address identifies a user only once, and only while the invitation to it is open:
 *
 * - A person can enter any address at the provider, and with an unverified address would sign in as any user.
 * - A verified address may belong to another person later. A user with a password, and perhaps a second factor, would
 *   lose the account to the next holder of the address. Such a user signs in, and connects the provider with the
 *   password.
 * - Signing in creates no user: people are invited.
 */
import { createHmac } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import { acceptInvitation, findUserOfIdentity, insertIdentity } from '../../db/queries/identities.ts';
import type { Session } from '../../db/queries/sessions.ts';
import { findUserByEmail, type User } from '../../db/queries/users.ts';
import type { Identity, OpenIdAttempt } from './openid-provider.ts';

import { inOpenSession } from './sessions.ts';

export { type Identity, type OpenIdProvider, ProviderDownError, SignInRefusedError } from './openid-provider.ts';

/** Binds an attempt to the browser that started it. */
export const ATTEMPT_COOKIE = '__Host-genway-sign-in';
/** The time for signing in at the provider. */
export const ATTEMPT_LIFETIME_SECONDS = 10 * 60;

/**
 * The secrets of an attempt, derived from the random token in the cookie: nothing is stored, and an answer is valid
 * only in the browser that started the attempt.
 *
 * @param formToken the form token of the session to which a provider is being connected; null for a sign-in
 */
export function attemptOf(token: string, formToken: string | null): OpenIdAttempt {
  const purpose = formToken === null ? 'sign in' : `connect ${formToken}`;
  const secret = (use: string): string =>
    createHmac('sha256', token).update(`${use} to ${purpose}`).digest('base64url');
  return { state: secret('state'), nonce: secret('nonce'), codeVerifier: secret('code verifier') };
}

export type ProviderSignIn = { readonly user: User } | 'unknown' | 'not connected';

/** @returns `not connected` for a user with a password, who must first connect the provider with the password */
export async function signInAs(database: Database, identity: Identity): Promise<ProviderSignIn> {
  const known = await findUserOfIdentity(database, identity);
  if (known) return known.disabledAt === null ? { user: known } : 'unknown';
  const { email, isEmailVerified } = identity;
  if (email === null || !isEmailVerified) return 'unknown';
  const invited = await acceptInvitation(database, email, identity);
  if (invited) return { user: invited };
  const found = await findUserByEmail(database, email);
  return found?.user.hasPassword && found.user.disabledAt === null ? 'not connected' : 'unknown';
}

/**
 * Lets a user sign in as an identity from now on.
 *
 * @returns false when the identity belongs to another user; null when the session has ended
 */
export function connect(database: Database, session: Session, identity: Identity): Promise<boolean | null> {
  return inOpenSession(database, session, async (transaction) => {
    const { id } = session.user;
    if (await insertIdentity(transaction, id, identity)) return true;
    return (await findUserOfIdentity(transaction, identity))?.id === id;
  });
}
