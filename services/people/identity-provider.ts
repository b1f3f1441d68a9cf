/** What the providers with which people sign in have in common. */
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import type { ProviderSettings } from '../../catalogue/sign-in-providers.ts';
import { isEmailAddress } from '../../domain/email-address.ts';

/** The longest wait for an answer of a provider, while a person waits for the page. */
export const PROVIDER_TIMEOUT_SECONDS = 10;

export interface ProviderClient extends Omit<ProviderSettings, 'kind'> {
  /** The address to which the provider redirects; must be registered at the provider. */
  readonly redirectUri: string;
}

/** The values that tie the provider's answer to the browser that started the sign-in. */
export interface ProviderAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The person whom the provider has authenticated. */
export interface Identity {
  readonly issuer: string;
  /** Unique at the issuer, and never reassigned. */
  readonly subject: string;
  /** In lower case; null if the provider does not send it. */
  readonly email: string | null;
  /** Whether the provider has verified that the address belongs to the person. */
  readonly isEmailVerified: boolean;
}

/**
 * Reads the address that a provider sends. Returns null for an address with other characters than Genway accepts: some
 * of them, such as the Kelvin sign, become ASCII letters in lower case, and so the address of another person.
 */
export function addressOf(email: unknown): string | null {
  return typeof email === 'string' && isEmailAddress(email) ? email.toLowerCase() : null;
}

export interface IdentityProvider extends Pick<ProviderSettings, 'name' | 'issuer' | 'asksSecondFactor'> {
  /** Returns the address to which the browser is redirected. @throws ProviderDownError */
  authorizationUrl(attempt: ProviderAttempt): Promise<string>;
  /**
   * Exchanges the code that the browser brings back.
   *
   * @param query the query of the redirect, without `?`
   * @throws ProviderDownError; SignInRefusedError if the answer does not belong to the attempt, or the provider refused
   */
  identityOf(query: string, attempt: ProviderAttempt): Promise<Identity>;
  /** The provider's sign-out address; null if there is none, or the provider does not answer. */
  signOutUrl(returnTo: string): Promise<string | null>;
}

/** The provider does not answer, its answer does not follow its protocol, or it refuses Genway's client. */
export class ProviderDownError extends Error {
  override readonly name = 'ProviderDownError';
}

/** The sign-in failed: the answer belongs to another attempt, was used before or was forged, or the provider refused. */
export class SignInRefusedError extends Error {
  override readonly name = 'SignInRefusedError';
}

/** Error codes that mean that the provider failed, rather than refused: a timeout, or an invalid answer. */
const FAILURES: readonly unknown[] = ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'];

/** Codes of RFC 6749, section 5.2, for which the operator's file is wrong: no person can sign in until it is mended. */
const CLIENT_REFUSED: readonly string[] = ['invalid_client', 'unauthorized_client'];

function refusesClient(error: unknown): boolean {
  // The status 401 of the token endpoint refuses the client, with or without a code.
  if (error instanceof WWWAuthenticateChallengeError) return error.status === 401;
  return error instanceof ResponseBodyError && CLIENT_REFUSED.includes(error.error);
}

/** Converts the errors of `openid-client`. */
export function toRefusal(error: unknown): Error {
  if (error instanceof SignInRefusedError) return error;
  if (error instanceof AuthorizationResponseError) {
    return new SignInRefusedError(`the provider answered ${error.error}`, { cause: error });
  }
  if (refusesClient(error))
    return new ProviderDownError('the provider refuses the client: check client_id and client_secret', {
      cause: error,
    });
  const { code, status }: { readonly code?: unknown; readonly status?: unknown } = Object(error);
  const isDown = error instanceof TypeError || FAILURES.includes(code) || (typeof status === 'number' && status >= 500);
  return isDown
    ? new ProviderDownError('the provider does not answer', { cause: error })
    : new SignInRefusedError(`the answer is not one to this attempt: ${explain(error)}`, { cause: error });
}

/** One sentence for the log. Messages of the provider stay out: a person can choose parts of them. */
function explain(error: unknown): string {
  if (error instanceof ResponseBodyError) return error.error;
  return error instanceof Error ? error.message : 'unknown';
}
