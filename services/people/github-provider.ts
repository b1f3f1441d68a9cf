/**
 * A client of GitHub, which has OAuth 2.0 without OpenID Connect:
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretPost,
  Configuration,
  fetchProtectedResource,
} from 'openid-client';
import { isObject } from '../../domain/json.ts';
import type { IdentityProvider, ProviderClient } from './identity-provider.ts';
import { addressOf, PROVIDER_TIMEOUT_SECONDS, SignInRefusedError, toRefusal } from './identity-provider.ts';

const HEADERS = { accept: 'application/vnd.github+json', 'user-agent': 'genway', 'x-github-api-version': '2022-11-28' };

/** @param client its issuer is the address of GitHub, or of a GitHub Enterprise Server */
export function createGitHubProvider(client: ProviderClient): IdentityProvider {
  const { name, issuer, clientId, clientSecret, asksSecondFactor, redirectUri } = client;
  const api = issuer === 'https://github.com' ? 'https://api.github.com' : `${issuer}/api/v3`;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/login/oauth/authorize`,
    token_endpoint: `${issuer}/login/oauth/access_token`,
  };
  const configuration = new Configuration(metadata, clientId, undefined, ClientSecretPost(clientSecret));
  configuration.timeout = PROVIDER_TIMEOUT_SECONDS;
  // The configuration accepts http only for this machine.
  if (issuer.startsWith('http:')) allowInsecureRequests(configuration);
  const read = async (path: string, token: string): Promise<unknown> => {
    const url = new URL(`${api}${path}`);
    const response = await fetchProtectedResource(configuration, token, url, 'GET', undefined, new Headers(HEADERS));
    if (!response.ok) throw new SignInRefusedError(`GitHub answered ${response.status}`);
    return response.json();
  };
  return {
    name,
    issuer,
    asksSecondFactor,
    authorizationUrl: async ({ state, codeVerifier }) =>
      buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'user:email',
        state,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      }).href,
    identityOf: async (query, { state, codeVerifier }) => {
      try {
        const { access_token: token } = await authorizationCodeGrant(
          configuration,
          new URL(`${redirectUri}?${query}`),
          {
            expectedState: state,
            pkceCodeVerifier: codeVerifier,
          },
        );
        const [user, emails] = [await read('/user', token), await read('/user/emails', token)];
        return { issuer, subject: subjectIn(user), ...primaryIn(emails) };
      } catch (error) {
        throw toRefusal(error);
      }
    },
    signOutUrl: async () => null,
  };
}

/** Users may change their login, and never their id. */
function subjectIn(user: unknown): string {
  const id = isObject(user) ? user['id'] : undefined;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw new SignInRefusedError('GitHub sent no user');
  return String(id);
}

function primaryIn(emails: unknown): { readonly email: string | null; readonly isEmailVerified: boolean } {
  const primary = Array.isArray(emails)
    ? emails.filter(isObject).find((entry) => entry['primary'] === true)
    : undefined;
  const { email, verified } = primary ?? {};
  return { email: addressOf(email), isEmailVerified: verified === true };
}
