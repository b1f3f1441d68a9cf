/** Token services of Google, AWS and Microsoft that check what they receive by the vendors' published rules. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { exportPKCS8, exportSPKI, generateKeyPair, importSPKI, jwtVerify } from 'jose';
import { verifySignature, type AwsKey } from './aws-signature.ts';

const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token';
export const AZURE_TENANT = 'tenant-1';
export const AZURE_SECRET = 'a-client-secret';
export const AWS_KEY: AwsKey = { secret: 'the-secret-access-key', sessionToken: null, expiresAtMs: Infinity };
export const AWS_KEY_ID = 'AKIAEXAMPLE';
export const ROLE = 'arn:aws:iam::123456789012:role/genway';

/** What a test does to the services. */
export interface Conduct {
  /** `hang`: never answers; `down`: 503; `refuse`: the key or the role is revoked. */
  mode: 'serve' | 'hang' | 'down' | 'refuse';
  /** The life of new tokens. */
  lifeSeconds: number;
  /** The clock of the clouds, beyond that of the machine. */
  skewMs: number;
}

export interface ServiceAccount {
  readonly type: 'service_account';
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id: string;
}

export interface TokenServices {
  readonly conduct: Conduct;
  /** Tokens issued, by vendor. */
  readonly issued: { google: number; aws: number; azure: number };
  /** The JSON of the service account, with its only valid key. */
  serviceAccount(): ServiceAccount;
  rotateKey(): Promise<void>;
  readonly awsKeys: Map<string, AwsKey>;
  /** The tokens issued so far, except those that were revoked. */
  tokens(): readonly string[];
  /** Whether a token is known and not expired. */
  isValid(token: string): boolean;
  /** Makes all tokens so far invalid. */
  revokeTokens(): void;
  handle(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const EMAIL = 'genway@project-1.iam.gserviceaccount.com';

export async function createTokenServices(): Promise<TokenServices> {
  const conduct: Conduct = { mode: 'serve', lifeSeconds: 3_600, skewMs: 0 };
  const issued = { google: 0, aws: 0, azure: 0 };
  const tokens = new Map<string, number>();
  const awsKeys = new Map<string, AwsKey>([[AWS_KEY_ID, AWS_KEY]]);
  const nowMs = (): number => Date.now() + conduct.skewMs;
  let { account, publicKey } = await makeKey();

  function issue(vendor: 'google' | 'azure'): object {
    const token = `${vendor}-${randomUUID()}`;
    issued[vendor] += 1;
    tokens.set(token, nowMs() + conduct.lifeSeconds * 1000);
    return { access_token: token, expires_in: conduct.lifeSeconds, token_type: 'Bearer' };
  }

  async function google(form: URLSearchParams): Promise<object> {
    await verifyAssertion(form.get('assertion') ?? '', publicKey, nowMs());
    return issue('google');
  }

  function azure(form: URLSearchParams): object {
    if (!isSecretOfApplication(form)) throw new Error('AADSTS7000215: Invalid client secret provided.');
    return issue('azure');
  }

  /** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
  function assumeRole(form: URLSearchParams, request: IncomingMessage, body: string): string {
    const refusal = verifySignature(request, body, { keys: awsKeys, service: 'sts', nowMs: nowMs() });
    if (refusal !== null || form.get('RoleArn') !== ROLE) throw new Error(refusal ?? 'AccessDenied');
    issued.aws += 1;
    const id = `ASIA${issued.aws}`;
    const expiresAtMs = nowMs() + conduct.lifeSeconds * 1000;
    const key = { secret: randomUUID(), sessionToken: randomUUID(), expiresAtMs };
    awsKeys.set(id, key);
    return roleAnswer(id, key);
  }

  return {
    conduct,
    issued,
    serviceAccount: () => account,
    rotateKey: async () => {
      ({ account, publicKey } = await makeKey());
    },
    awsKeys,
    tokens: () => [...tokens.keys()],
    isValid: (token) => (tokens.get(token) ?? 0) > nowMs(),
    revokeTokens: () => tokens.clear(),

    async handle(path, request, response) {
      const body = await readText(request);
      const form = new URLSearchParams(body);
      if (conduct.mode === 'hang') return;
      if (conduct.mode === 'down') {
        response.writeHead(503).end('{}');
        return;
      }
      const isAws = path === '/tokens/aws';
      try {
        if (conduct.mode === 'refuse') throw new Error(isAws ? 'AccessDenied' : 'it is revoked');
        const answer = isAws
          ? assumeRole(form, request, body)
          : JSON.stringify(path === '/tokens/google' ? await google(form) : azure(form));
        response.writeHead(200, { 'content-type': isAws ? 'text/xml' : 'application/json' }).end(answer);
      } catch (error) {
        sendRefusal(response, isAws, error instanceof Error ? error.message : String(error));
      }
    },
  };
}

function sendRefusal(response: ServerResponse, isAws: boolean, reason: string): void {
  if (!isAws) {
    const refusal = JSON.stringify({ error: 'invalid_grant', error_description: reason });
    response.writeHead(400, { 'content-type': 'application/json' }).end(refusal);
    return;
  }
  const xml = `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${reason}</Message></Error></ErrorResponse>`;
  response.writeHead(403, { 'content-type': 'text/xml' }).end(xml);
}

async function makeKey(): Promise<{ account: ServiceAccount; publicKey: string }> {
  const pair = await generateKeyPair('RS256', { extractable: true });
  const private_key = await exportPKCS8(pair.privateKey);
  const account = { type: 'service_account', client_email: EMAIL, private_key, private_key_id: randomUUID() } as const;
  return { account, publicKey: await exportSPKI(pair.publicKey) };
}

/** https://developers.google.com/identity/protocols/oauth2/service-account */
async function verifyAssertion(assertion: string, publicKey: string, nowMs: number): Promise<void> {
  const { payload } = await jwtVerify(assertion, await importSPKI(publicKey, 'RS256'), {
    audience: GOOGLE_TOKEN_URL,
    issuer: EMAIL,
    maxTokenAge: '1h',
    currentDate: new Date(nowMs),
  });
  if (!String(payload['scope']).includes('cloud-platform')) throw new Error('invalid_scope');
}

function isSecretOfApplication(form: URLSearchParams): boolean {
  return (
    form.get('grant_type') === 'client_credentials' &&
    form.get('client_secret') === AZURE_SECRET &&
    form.get('scope') === 'https://cognitiveservices.azure.com/.default'
  );
}

function roleAnswer(id: string, { secret, sessionToken, expiresAtMs }: AwsKey): string {
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken>
<Expiration>${new Date(expiresAtMs).toISOString()}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;
}
