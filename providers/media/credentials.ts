/** Makes the headers that carry the operator's credential to an upstream. */
import { SignJWT } from 'jose';

/** The operator's credential: a key, or a pair of keys. */
export type Credential =
  | { readonly apiKey: string }
  | {
      readonly accessKey: string;
      readonly secretKey: string;
    };

type Headers = Readonly<Record<string, string>>;

/** Makes the headers of a request. */
export type Authorization = (credential: Credential, nowMs: number) => Headers | Promise<Headers>;

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

function singleKey(credential: Credential): string {
  if ('apiKey' in credential) return credential.apiKey;
  throw new Error('this upstream takes an api_key, not an access_key and a secret_key');
}
