/** Access tokens of Google Cloud, by Google's library. https://docs.cloud.google.com/docs/authentication/application-default-credentials */
import { readFile } from 'node:fs/promises';
import type { AuthClient } from 'google-auth-library';
import type { Credentials, CredentialsOptions, Headers } from './credentials.ts';
import { assertGoogleCredentials, type GoogleAuth as Settings } from './settings.ts';
import { type Expiring, FETCH_TIMEOUT_MS, Renewed } from './renewed.ts';

/** Where the library sends the assertions of service accounts, whatever their JSON says. */
const TOKEN_URL = 'https://oauth2.googleapis.com/token';
/** Requests do not wait for further attempts: the next one follows after a pause. */
const NO_RETRIES = { retry: 0, noResponseRetries: 0 };
/** The life of a token whose end the library does not report. */
const DEFAULT_LIFE_MS = 15 * 60_000;

export function openGoogle(settings: Settings, options: CredentialsOptions): Credentials {
  const { nowMs = Date.now } = options;
  const headers = new Renewed(() => fetchHeaders(settings, nowMs), [], options);
  return { headersFor: () => headers.get(), refused: () => headers.renew() };
}

/** A new client for each token: the library's own cache would return the old one. */
async function fetchHeaders(settings: Settings, nowMs: () => number): Promise<Expiring<Headers>> {
  const client = await createClient(settings);
  const { token } = await client.getAccessToken();
  if (!token) throw new Error('the token service sent no token');
  const { quotaProjectId, credentials } = client;
  return {
    value: {
      authorization: `Bearer ${token}`,
      ...(quotaProjectId !== undefined && { 'x-goog-user-project': quotaProjectId }),
    },
    expiresAtMs: credentials.expiry_date ?? nowMs() + DEFAULT_LIFE_MS,
  };
}

async function createClient({ credentials, credentials_file: file, scopes, token_url }: Settings): Promise<AuthClient> {
  const json = credentials ?? (file === undefined ? undefined : assertGoogleCredentials(await readFile(file, 'utf8')));
  const { GoogleAuth } = await import('google-auth-library');
  const auth = new GoogleAuth({ scopes: [...scopes] });
  const client = json === undefined ? await auth.getClient() : auth.fromJSON(JSON.parse(json));
  if ('scopes' in client) client.scopes = [...scopes];
  client.transporter.interceptors.request.add({
    resolved: async (request) => {
      const url = token_url !== undefined && String(request.url) === TOKEN_URL ? new URL(token_url) : request.url;
      return { ...request, url, timeout: FETCH_TIMEOUT_MS, retry: false, retryConfig: NO_RETRIES };
    },
  });
  return client;
}
