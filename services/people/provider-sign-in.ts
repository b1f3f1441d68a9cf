/**
 * Sign-in with a provider, by OpenID Connect or OAuth 2.0. Issuer and subject identify a user: a provider never reassigns them. An
 * e-mail address identifies a user only once, and only while the invitation to it is open:
 *
 * - A person can enter any address at the provider, and with an unverified address would sign in as any user.
 * - A verified address may belong to another person later. A user with a password, and perhaps a second factor, would
 *   lose the account to the next holder of the address. Such a user signs in, and connects the provider with the
 *   password.
 * - Signing in creates no user: people are invited, or register.
 */
import { createHmac } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import { acceptInvitation, findUserOfIdentity, insertIdentity } from '../../db/queries/identities.ts';
import type { Session } from '../../db/queries/sessions.ts';
import { findUserByEmail, type User } from '../../db/queries/users.ts';
import type { Identity, IdentityProvider, ProviderAttempt } from './identity-provider.ts';
import { inOpenSession } from './sessions.ts';

export { type Identity, type IdentityProvider, ProviderDownError, SignInRefusedError } from './identity-provider.ts';

/** Binds an attempt to the browser that started it. */
export const ATTEMPT_COOKIE = '__Host-genway-sign-in';
/** The time for signing in at the provider. */
export const ATTEMPT_LIFETIME_SECONDS = 10 * 60;

/**
 * The secrets of an attempt, derived from the random token in the cookie: nothing is stored, and an answer is valid
 * only in the browser that started the attempt, and only from the provider that the attempt is for (RFC 9700, section 4.4).
 *
 * @param formToken the form token of the session to which a provider is being connected; null for a sign-in
 */
export function attemptOf(
  { issuer }: Pick<IdentityProvider, 'issuer'>,
  token: string,
  formToken: string | null,
): ProviderAttempt {
  const purpose = JSON.stringify([issuer, formToken]);
  const secret = (use: string): string => secretOf(token, `${use} of ${purpose}`);
  return { state: secret('state'), nonce: secret('nonce'), codeVerifier: secret('code verifier') };
}

/** The token of the registration that follows an attempt in the same browser. */
export function registrationTokenOf(token: string): string {
  return secretOf(token, 'registration');
}

function secretOf(token: string, use: string): string {
  return createHmac('sha256', token).update(use).digest('base64url');
}

export type ProviderSignIn =
  | { readonly user: User }
  | { readonly stranger: string }
  | 'unverified'
  | 'unknown'
  | 'not connected';

/**
 * Signs a person in.
 *
 * @returns `not connected` for a user with a password, who must first connect the provider with the password;
 *   `stranger` with the verified address of a person whom nobody has invited
 */
export async function signInAs(database: Database, identity: Identity): Promise<ProviderSignIn> {
  const known = await findUserOfIdentity(database, identity);
  if (known) return known.disabledAt === null ? { user: known } : 'unknown';
  const { email, isEmailVerified } = identity;
  if (email === null || !isEmailVerified) return 'unverified';
  const invited = await acceptInvitation(database, email, identity);
  if (invited) return { user: invited };
  const found = await findUserByEmail(database, email);
  if (!found) return { stranger: email };
  return found.user.hasPassword && found.user.disabledAt === null ? 'not connected' : 'unknown';
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
