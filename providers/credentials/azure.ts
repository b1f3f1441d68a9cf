/**
 * Access tokens of Microsoft Entra. Three requests cover all identities, and Microsoft's library needs a later Node than
 * Genway: https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
import { createHash, createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SignJWT } from 'jose';
import { type JsonObject, objectOf } from '../../domain/json.ts';
import type { Credentials, CredentialsOptions, Headers } from './credentials.ts';
import { type Expiring, FETCH_TIMEOUT_MS, Renewed } from './renewed.ts';
import type { AzureAuth } from './settings.ts';

const AUTHORITY = 'https://login.microsoftonline.com';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const ASSERTION_SECONDS = 300;
/** The address on virtual machines: https://learn.microsoft.com/en-us/entra/identity/managed-identities-azure-resources/how-to-use-vm-token */
const MACHINE_URL = 'http://169.254.169.254/metadata/identity/oauth2/token';
const MACHINE_VERSION = '2018-02-01';
/** The version on App Service and Container Apps: https://learn.microsoft.com/en-us/azure/app-service/overview-managed-identity#rest-endpoint-reference */
const APP_VERSION = '2019-08-01';

export function openAzure(settings: AzureAuth, options: CredentialsOptions): Credentials {
  const { nowMs = Date.now } = options;
  const secrets = [settings.client_secret, settings.identity_header].filter((secret) => secret !== undefined);
  const headers = new Renewed(() => fetchHeaders(settings, nowMs), secrets, options);
  return { headersFor: () => headers.get(), refused: () => headers.renew() };
}

async function fetchHeaders(settings: AzureAuth, nowMs: () => number): Promise<Expiring<Headers>> {
  const startedAtMs = nowMs();
  const answer = await ask(await tokenRequest(settings, nowMs));
  const token = answer['access_token'];
  const lifeMs = Number(answer['expires_in']) * 1000;
  if (typeof token !== 'string' || !(lifeMs > 0)) throw new Error('the token service sent no token');
  return { value: { authorization: `Bearer ${token}` }, expiresAtMs: startedAtMs + lifeMs };
}

interface TokenRequest extends RequestInit {
  readonly url: URL;
}

async function tokenRequest(settings: AzureAuth, nowMs: () => number): Promise<TokenRequest> {
  const { tenant_id, client_id, client_secret, certificate_file, federated_token_file, scope, token_url } = settings;
  if (tenant_id === undefined || client_id === undefined) return managedIdentity(settings);
  const url = new URL(`${token_url ?? AUTHORITY}/${encodeURIComponent(tenant_id)}/oauth2/v2.0/token`);
  const proof = async (): Promise<Record<string, string>> => {
    if (client_secret !== undefined) return { client_secret };
    const assertion =
      certificate_file === undefined
        ? (await readFile(federated_token_file ?? '', 'utf8')).trim()
        : await signAssertion(await readFile(certificate_file, 'utf8'), client_id, url.href, nowMs());
    return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
  };
  if ((client_secret ?? certificate_file ?? federated_token_file) === undefined) return managedIdentity(settings);
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, scope, ...(await proof()) });
  return { url, method: 'POST', body };
}

/** A token of the machine, for its only identity or the one with this client id. */
function managedIdentity({ client_id, scope, token_url, identity_header: secret }: AzureAuth): TokenRequest {
  const url = new URL(token_url ?? MACHINE_URL);
  url.searchParams.set('api-version', secret === undefined ? MACHINE_VERSION : APP_VERSION);
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''));
  if (client_id !== undefined) url.searchParams.set('client_id', client_id);
  return { url, headers: secret === undefined ? { metadata: 'true' } : { 'x-identity-header': secret } };
}

/** https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials */
async function signAssertion(pem: string, clientId: string, audience: string, nowMs: number): Promise<string> {
  const { raw } = new X509Certificate(pem);
  const seconds = Math.floor(nowMs / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: 'PS256', typ: 'JWT', 'x5t#S256': createHash('sha256').update(raw).digest('base64url') })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(audience)
    .setJti(randomUUID())
    .setNotBefore(seconds)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + ASSERTION_SECONDS)
    .sign(createPrivateKey(pem));
}

/** A refusal of the token service, with its status. */
class TokenServiceError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function ask({ url, ...request }: TokenRequest): Promise<JsonObject> {
  const answer = await fetch(url, { ...request, redirect: 'error', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  const document: unknown = await answer.json().catch(() => null);
  const fields = objectOf(document);
  if (answer.ok) return fields;
  const reported = [fields['error'], fields['error_description']].filter((value) => typeof value === 'string');
  throw new TokenServiceError(answer.status, [answer.status, ...reported].join(' '));
}
