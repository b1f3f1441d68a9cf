/** Signatures of AWS (version 4), with credentials that may expire, by the SDK's libraries. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentialIdentity, AwsCredentialIdentityProvider, Checksum, SourceData } from '@smithy/types';
import type { Credentials, CredentialsOptions, Headers, SentRequest } from './credentials.ts';
import { type Expiring, FETCH_TIMEOUT_MS, Renewed } from './renewed.ts';
import type { AwsAuth } from './settings.ts';

/** The name of Bedrock in signatures. */
const SERVICE = 'bedrock';
/** AWS refuses signatures of clocks that differ by 5 minutes. */
const MAX_SKEW_MS = 4 * 60_000;

export function openAws(settings: AwsAuth, options: CredentialsOptions): Credentials {
  const { region = 'us-east-1', nowMs = Date.now } = options;
  const secrets = [settings.secret_access_key, settings.session_token].filter((secret) => secret !== undefined);
  const identity = new Renewed(() => fetchIdentity(settings, region), secrets, options);
  let skewMs = 0;
  let signer: Promise<SignatureV4> | null = null;
  return {
    headersFor: async (request) => {
      signer ??= createSigner(region, () => identity.get());
      return sign(await signer, request, new Date(nowMs() + skewMs));
    },
    refused: (date) => {
      const measuredMs = Date.parse(date ?? '') - nowMs();
      if (!Number.isNaN(measuredMs)) skewMs = Math.abs(measuredMs) > MAX_SKEW_MS ? measuredMs : 0;
      identity.renew();
    },
  };
}

async function createSigner(region: string, credentials: () => Promise<AwsCredentialIdentity>): Promise<SignatureV4> {
  const { SignatureV4: Signer } = await import('@smithy/signature-v4');
  return new Signer({ service: SERVICE, region, sha256: Sha256, credentials });
}

async function fetchIdentity(settings: AwsAuth, region: string): Promise<Expiring<AwsCredentialIdentity>> {
  const provide = await providerOf(settings, region);
  const value = await provide();
  return { value, expiresAtMs: value.expiration?.getTime() ?? Infinity };
}

async function providerOf(settings: AwsAuth, region: string): Promise<AwsCredentialIdentityProvider> {
  const { role_arn: roleArn, external_id: ExternalId, web_identity_token_file: webIdentityTokenFile } = settings;
  const clientConfig = {
    region,
    maxAttempts: 1,
    requestHandler: { requestTimeout: FETCH_TIMEOUT_MS },
    ...(settings.token_url !== undefined && { endpoint: settings.token_url }),
  };
  const base = await baseOf(settings, clientConfig);
  if (roleArn === undefined) return base;
  const { fromTemporaryCredentials, fromTokenFile } = await import('@aws-sdk/credential-providers');
  if (webIdentityTokenFile !== undefined) return fromTokenFile({ roleArn, webIdentityTokenFile, clientConfig });
  return fromTemporaryCredentials({
    params: { RoleArn: roleArn, RoleSessionName: 'genway', ...(ExternalId !== undefined && { ExternalId }) },
    masterCredentials: base,
    clientConfig,
  });
}

async function baseOf(
  { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken, profile }: AwsAuth,
  clientConfig: object,
): Promise<AwsCredentialIdentityProvider> {
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return async () => ({ accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) });
  const { fromIni, fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
  // The files are read anew for each identity, so that their keys can be replaced.
  if (profile !== undefined) return () => fromIni({ profile, ignoreCache: true, clientConfig })();
  return () => fromNodeProviderChain({ ignoreCache: true, clientConfig })();
}

/** The signed headers. The hash covers the body as it is sent. */
async function sign(signer: SignatureV4, request: SentRequest, signingDate: Date): Promise<Headers> {
  const { method, url, headers } = request;
  const { headers: signed } = await signer.sign(
    {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: {
        host: url.host,
        'content-type': headers['content-type'] ?? 'application/json',
        'x-amz-content-sha256': hashOf(request.body),
      },
    },
    { signingDate },
  );
  const { host: _host, ...sent } = signed;
  return sent;
}

function hashOf(body: SentRequest['body']): string {
  const hash = createHash('sha256');
  if (typeof body === 'string') hash.update(body);
  else for (const piece of body) hash.update(piece);
  return hash.digest('hex');
}

/** The hash of the runtime, which is faster than that of the SDK. */
class Sha256 implements Checksum {
  #hash: Hash | Hmac;
  readonly #secret: SourceData | undefined;

  constructor(secret?: SourceData) {
    this.#secret = secret;
    this.#hash = this.#create();
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#create();
  }

  #create(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(this.#secret));
  }
}

function bytesOf(data: SourceData): Uint8Array | string {
  if (typeof data === 'string') return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
