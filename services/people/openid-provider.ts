/**
 * A client of an OpenID Connect provider, with the authorization code flow, PKCE, state and nonce:
 * https://openid.net/specs/openid-connect-core-1_0.html and RFC 9700. The client reads the provider's metadata only
 * when a person signs in, so that the provider may be down while Genway starts.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
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
import {
  addressOf,
  type IdentityProvider,
  PROVIDER_TIMEOUT_SECONDS,
  type ProviderClient,
  ProviderDownError,
  SignInRefusedError,
  toRefusal,
} from './identity-provider.ts';

/** How long the provider's metadata is cached. */
const KEPT_MS = 3_600_000;

export function createOpenIdProvider(settings: ProviderClient): IdentityProvider {
  const { name, issuer, asksSecondFactor, clientId, redirectUri } = settings;
  const configuration = keptFor(KEPT_MS, () => discover(settings));
  return {
    name,
    issuer,
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
        const person =
          claims['email'] === undefined ? await fetchUserInfo(known, tokens.access_token, claims.sub) : claims;
        return {
          issuer: claims.iss,
          subject: claims.sub,
          email: addressOf(person['email']),
          isEmailVerified: isVerified(person),
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

/** The values of `xms_edov` in tokens of Microsoft. */
const TRUE_IN_ENTRA: readonly unknown[] = [true, 1, '1', 'true'];

/**
 * Microsoft Entra never sends `email_verified`. Its optional claim `xms_edov` reports whether the owner of the address's
 * domain has verified the address:
 * https://learn.microsoft.com/en-us/entra/identity-platform/optional-claims-reference
 */
function isVerified({ email_verified: verified, xms_edov: ofEntra }: Readonly<Record<string, unknown>>): boolean {
  return verified === undefined ? TRUE_IN_ENTRA.includes(ofEntra) : verified === true;
}

async function discover({ issuer, clientId, clientSecret }: ProviderClient): Promise<Configuration> {
  const url = new URL(issuer);
  // The configuration accepts http only for this machine.
  const insecurely = url.protocol === 'http:' ? [allowInsecureRequests] : [];
  try {
    return await discovery(url, clientId, undefined, asSupported(clientSecret), {
      timeout: PROVIDER_TIMEOUT_SECONDS,
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
