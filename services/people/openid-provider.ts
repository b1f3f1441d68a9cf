/**
 * A client of an OpenID Connect provider, with the authorization code flow, PKCE, state and nonce:
 * https://openid.net/specs/openid-connect-core-1_0.html and RFC 9700. The client reads the provider's metadata only
 * when a person signs in, so that the provider may be down while Genway starts.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
} from 'openid-client';

export interface OpenIdSettings {
  /** The issuer, spelt as the provider spells it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether the operator relies on the provider to ask for a second factor. */
  readonly asksSecondFactor: boolean;
  /** The address to which the provider redirects; must be registered at the provider. */
  readonly redirectUri: string;
}

/** The values that tie the provider's answer to the browser that started the sign-in. */
export interface OpenIdAttempt {
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

export interface OpenIdProvider extends Pick<OpenIdSettings, 'issuer' | 'asksSecondFactor'> {
  /** The issuer's host, by which the sign-in page names the provider. */
  readonly name: string;
  /** Returns the address to which the browser is redirected. @throws ProviderDownError */
  authorizationUrl(attempt: OpenIdAttempt): Promise<string>;
  /**
   * Exchanges the code that the browser brings back.
   *
   * @param query the query of the redirect, without `?`
   * @throws ProviderDownError; SignInRefusedError if the answer does not belong to the attempt, or the provider refused
   */
  identityOf(query: string, attempt: OpenIdAttempt): Promise<Identity>;
  /** The provider's sign-out address; null if there is none, or the provider does not answer. */
  signOutUrl(returnTo: string): Promise<string | null>;
}

/** The provider does not answer, or its answer is not OpenID Connect. */
export class ProviderDownError extends Error {
  override readonly name = 'ProviderDownError';
}

/** The sign-in failed: the answer belongs to another attempt, was used before or was forged, or the provider refused. */
export class SignInRefusedError extends Error {
  override readonly name = 'SignInRefusedError';
}

const TIMEOUT_SECONDS = 10;
/** How long the provider's metadata is cached. */
const KEPT_MS = 3_600_000;
/** Error codes that mean that the provider failed, rather than refused: a timeout, or an invalid answer. */
const FAILURES: readonly unknown[] = ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'];

export function createOpenIdProvider(settings: OpenIdSettings): OpenIdProvider {
  const { issuer, asksSecondFactor, clientId, redirectUri } = settings;
  const configuration = keptFor(KEPT_MS, () => discover(settings));
  return {
    issuer,
    name: new URL(issuer).host,
    asksSecondFactor,
    authorizationUrl: async ({ state, nonce, codeVerifier }) => {
      const parameters = {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      };
      return buildAuthorizationUrl(await configuration(), parameters).href;
    },
    identityOf: async (query, { state, nonce, codeVerifier }) => {
      const known = await configuration();
      try {
        const tokens = await authorizationCodeGrant(known, new URL(`${redirectUri}?${query}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
        });
        const claims = tokens.claims();
        if (!claims) throw new SignInRefusedError('the provider sent no ID token');
        // Many providers send the address only from the user info endpoint.
        const { email, email_verified: verified } =
          claims['email'] === undefined ? await fetchUserInfo(known, tokens.access_token, claims.sub) : claims;
        return {
          issuer: claims.iss,
          subject: claims.sub,
          email: typeof email === 'string' ? email.toLowerCase() : null,
          isEmailVerified: verified === true,
        };
      } catch (error) {
        throw toRefusal(error);
      }
    },
    signOutUrl: async (returnTo) => {
      const known = await configuration().catch(() => null);
      if (!known?.serverMetadata().end_session_endpoint) return null;
      return buildEndSessionUrl(known, { client_id: clientId, post_logout_redirect_uri: returnTo }).href;
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: OpenIdSettings): Promise<Configuration> {
  const url = new URL(issuer);
  // The configuration accepts http only for this machine.
  const insecurely = url.protocol === 'http:' ? [allowInsecureRequests] : [];
  try {
    return await discovery(url, clientId, undefined, asSupported(clientSecret), {
      timeout: TIMEOUT_SECONDS,
      execute: [...insecurely, enableNonRepudiationChecks],
    });
  } catch (error) {
    throw new ProviderDownError(`${issuer} does not publish what it is`, { cause: error });
  }
}

/** Sends the secret in the body if the provider supports that, since providers decode the header differently. */
function asSupported(clientSecret: string): ClientAuth {
  const [inBody, inHeader] = [ClientSecretPost(clientSecret), ClientSecretBasic(clientSecret)];
  return (server, client, body, headers) => {
    const isSecretInBody = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false;
    return (isSecretInBody ? inBody : inHeader)(server, client, body, headers);
  };
}

function toRefusal(error: unknown): Error {
  if (error instanceof SignInRefusedError) return error;
  if (error instanceof AuthorizationResponseError) {
    return new SignInRefusedError(`the provider answered ${error.error}`, { cause: error });
  }
  const { code, status }: { readonly code?: unknown; readonly status?: unknown } = Object(error);
  const isDown = error instanceof TypeError || FAILURES.includes(code) || (typeof status === 'number' && status >= 500);
  return isDown
    ? new ProviderDownError('the provider does not answer', { cause: error })
    : new SignInRefusedError('the answer is not one to this attempt', { cause: error });
}

/** Caches a value for `keptMs`. Does not cache failures. */
function keptFor<Value>(keptMs: number, make: () => Promise<Value>): () => Promise<Value> {
  let kept: { readonly value: Promise<Value>; readonly untilMs: number } | null = null;
  return () => {
    if (kept && kept.untilMs > performance.now()) return kept.value;
    const made = { value: make(), untilMs: performance.now() + keptMs };
    kept = made;
    made.value.catch(() => {
      if (kept === made) kept = null;
    });
    return made.value;
  };
}
