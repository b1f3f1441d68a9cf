/** Makes the headers that carry the operator's credential to an upstream. */
import { SignJWT } from 'jose';
import { AUTH_KEY, type Auth } from '../credentials/settings.ts';

/** The operator's credential: a key, or a pair of keys. */
export type StaticCredential =
  | { readonly apiKey: string }
  | {
      readonly accessKey: string;
      readonly secretKey: string;
    };

/** The operator's credential, which may be a source of tokens that expire. */
export type Credential = StaticCredential | { readonly auth: Auth };

/** The text whose end operators see in place of a credential. */
export function shownCredential(credential: Credential): string {
  if ('auth' in credential) return AUTH_KEY;
  return 'apiKey' in credential ? credential.apiKey : credential.accessKey;
}

type Headers = Readonly<Record<string, string>>;

/** Makes the headers of a request. */
export type Authorization = (credential: StaticCredential, nowMs: number) => Headers | Promise<Headers>;

/** `Authorization: Bearer …`. */
export const bearer: Authorization = (credential) => ({ authorization: `Bearer ${singleKey(credential)}` });

/** Puts the key into the header `Authorization`, after a scheme other than `Bearer`. */
export function authorizationScheme(scheme: string): Authorization {
  return (credential) => ({ authorization: `${scheme} ${singleKey(credential)}` });
}

/** Puts the key into the header with this name. */
export function keyHeader(name: string): Authorization {
  return (credential) => ({ [name]: singleKey(credential) });
}

const TOKEN_SECONDS = 1_800;
/** Allows for a vendor whose clock is slow. */
const TOKEN_SLACK_SECONDS = 5;

/** Signs a new token (RFC 7519, HS256) with the secret key for each request; sends a single key unchanged. */
export const signedToken: Authorization = async (credential, nowMs) => {
  if ('apiKey' in credential) return bearer(credential, nowMs);
  const now = Math.floor(nowMs / 1000);
  const claims = { iss: credential.accessKey, exp: now + TOKEN_SECONDS, nbf: now - TOKEN_SLACK_SECONDS };
  const token = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' });
  return { authorization: `Bearer ${await token.sign(Buffer.from(credential.secretKey))}` };
};

function singleKey(credential: StaticCredential): string {
  if ('apiKey' in credential) return credential.apiKey;
  throw new Error('this upstream takes an api_key, not an access_key and a secret_key');
}
