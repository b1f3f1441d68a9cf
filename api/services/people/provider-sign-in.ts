/**
 * Signing in with a provider of OpenID Connect. Who comes back is known by issuer and subject, which a provider never gives to
 * somebody else. An e-mail address leads to a user only once, and only while the invitation to it is open:
 *
 * - An address that the provider has not verified is what somebody typed there, and would let them in as anybody.
 * - A verified address may be given to another person later. A user with a password, and perhaps a second factor, would
 *   lose the account to the next holder of the address; they connect the provider themselves, signed in and with their password.
 * - Nobody is made a user by signing in: people are invited.
 */
import { createHmac } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import { acceptInvitation, findUserOfIdentity, insertIdentity } from '../../../db/queries/identities.ts';
import type { Session } from '../../../db/queries/sessions.ts';
import { findUserByEmail, type User } from '../../../db/queries/users.ts';
import type { Identity, OpenIdAttempt } from '../../../net/openid-provider.ts';

import { inOpenSession } from './sessions.ts';

export {
  type Identity,
  type OpenIdProvider,
  ProviderDownError,
  SignInRefusedError,
} from '../../../net/openid-provider.ts';

/** Holds the attempt in the browser that set out, and in no other. */
export const ATTEMPT_COOKIE = '__Host-genway-sign-in';
/** To sign in at the provider. */
export const ATTEMPT_LIFETIME_SECONDS = 10 * 60;

/**
 * The secrets of an attempt, all made of the random token in the cookie: nothing needs to be stored, and an answer fits only
 * in the browser that asked.
 *
 * @param formToken of the session that a provider is being connected to; null when somebody signs in
 */
export function attemptOf(token: string, formToken: string | null): OpenIdAttempt {
  const purpose = formToken === null ? 'sign in' : `connect ${formToken}`;
  const secret = (use: string): string =>
    createHmac('sha256', token).update(`${use} to ${purpose}`).digest('base64url');
  return { state: secret('state'), nonce: secret('nonce'), codeVerifier: secret('code verifier') };
}

export type ProviderSignIn = { readonly user: User } | 'unknown' | 'not connected';

/** @returns `not connected` for somebody who has a password, and has to connect the provider with it first */
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
 * @returns false when it is that of somebody else; null when the session is over
 */
export function connect(database: Database, session: Session, identity: Identity): Promise<boolean | null> {
  return inOpenSession(database, session, async (transaction) => {
    const { id } = session.user;
    if (await insertIdentity(transaction, id, identity)) return true;
    return (await findUserOfIdentity(transaction, identity))?.id === id;
  });
}
