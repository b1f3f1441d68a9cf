/** The field `auth` of an upstream: how the operator's credentials are obtained. */
import Joi from 'joi';

/** Google Cloud: a key or a workload identity as JSON, or the machine's own identity (application default credentials). */
export interface GoogleAuth {
  /** The JSON of a service account, a workload identity or a user. */
  readonly credentials?: string;
  /** A file with the same. It is read for each token, so that its key can be replaced. */
  readonly credentials_file?: string;
  readonly scopes: readonly string[];
  readonly token_url?: string;
}

/** AWS: keys, a profile, or the machine's own identity (the default chain of the SDKs); and a role to take on. */
export interface AwsAuth {
  readonly access_key_id?: string;
  readonly secret_access_key?: string;
  readonly session_token?: string;
  readonly profile?: string;
  readonly role_arn?: string;
  readonly external_id?: string;
  /** Takes on the role with the token in this file, as in a pod. */
  readonly web_identity_token_file?: string;
  /** The address of the Security Token Service. */
  readonly token_url?: string;
}

/** Microsoft Entra: a secret, a certificate or a federated token of an application, or a managed identity. */
export interface AzureAuth {
  readonly tenant_id?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  /** PEM: the certificate and its private key. */
  readonly certificate_file?: string;
  /** A token of another issuer, as in a pod. */
  readonly federated_token_file?: string;
  /** The secret of the service for managed identities, where it has one. */
  readonly identity_header?: string;
  readonly scope: string;
  /** The address of Entra, or of the service for managed identities. */
  readonly token_url?: string;
}

export type Auth = { readonly google: GoogleAuth } | { readonly aws: AwsAuth } | { readonly azure: AzureAuth };
export type AuthKind = 'google' | 'aws' | 'azure';

/** Stands for `auth` wherever the end of a key is shown. */
export const AUTH_KEY = 'auth';

const text = Joi.string();
/** The address of a service, in settings. */
export const httpUrl = Joi.string().uri({ scheme: ['http', 'https'] });

const google = Joi.object<GoogleAuth>({
  credentials: text.custom(assertGoogleCredentials),
  credentials_file: text,
  scopes: Joi.array().items(text).min(1).default(['https://www.googleapis.com/auth/cloud-platform']),
  token_url: httpUrl,
}).oxor('credentials', 'credentials_file');

const aws = Joi.object<AwsAuth>({
  access_key_id: text,
  secret_access_key: text,
  session_token: text,
  profile: text,
  role_arn: text.pattern(/^arn:aws[\w-]*:iam::\d{12}:role\/.+$/, 'the ARN of a role'),
  external_id: text,
  web_identity_token_file: text,
  token_url: httpUrl,
})
  .and('access_key_id', 'secret_access_key')
  .with('session_token', 'access_key_id')
  .with('external_id', 'role_arn')
  .with('web_identity_token_file', 'role_arn')
  .oxor('access_key_id', 'profile', 'web_identity_token_file');

const azure = Joi.object<AzureAuth>({
  tenant_id: text,
  client_id: text,
  client_secret: text,
  certificate_file: text,
  federated_token_file: text,
  identity_header: text,
  scope: text.default('https://cognitiveservices.azure.com/.default'),
  token_url: httpUrl,
})
  .oxor('client_secret', 'certificate_file', 'federated_token_file', 'identity_header')
  .with('identity_header', 'token_url')
  .with('client_secret', ['tenant_id', 'client_id'])
  .with('certificate_file', ['tenant_id', 'client_id'])
  .with('federated_token_file', ['tenant_id', 'client_id']);

export const authSchema = Joi.object<Auth>({ google, aws, azure }).xor('google', 'aws', 'azure');

export function authKind(auth: Auth): AuthKind {
  return 'google' in auth ? 'google' : 'aws' in auth ? 'aws' : 'azure';
}

/** The fields that each kind of Google's JSON needs; Google's library reads the others. */
const GOOGLE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  service_account: ['client_email', 'private_key'],
  external_account: ['audience', 'subject_token_type', 'token_url', 'credential_source'],
  authorized_user: ['client_id', 'client_secret', 'refresh_token'],
  impersonated_service_account: ['service_account_impersonation_url', 'source_credentials'],
};

/** Checks the form of Google's JSON. @throws Error without anything of the text, which has a secret */
export function assertGoogleCredentials(json: string): string {
  const document = parsed(json);
  const type = String(document?.['type']);
  const fields = Object.hasOwn(GOOGLE_FIELDS, type) ? GOOGLE_FIELDS[type] : undefined;
  if (document === undefined || fields === undefined)
    throw new Error(`it must be JSON with a type of ${Object.keys(GOOGLE_FIELDS).join(', ')}`);
  const missing = fields.find((field) => document[field] === undefined);
  if (missing !== undefined) throw new Error(`credentials of the type ${type} need "${missing}"`);
  if (type === 'service_account' && !String(document['private_key']).includes('PRIVATE KEY'))
    throw new Error('its private_key must be in PEM form');
  return json;
}

function parsed(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
