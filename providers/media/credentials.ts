/** How requests to an upstream carry the operator's credential. */
import { createHmac } from 'node:crypto';

/** What the operator wrote: one key, or a pair of them. */
export type Credential =
  | { readonly apiKey: string }
  | {
      readonly accessKey: string;
      readonly secretKey: string;
    };

/** The headers of one request. */
export type Authorization = (credential: Credential, nowMs: number) => Readonly<Record<string, string>>;

/** `Authorization: Bearer …`. */
export const bearer: Authorization = (credential) => ({ authorization: `Bearer ${singleKey(credential)}` });

/** The key in the header `Authorization`, after another word than `Bearer`. */
export function authorizationScheme(scheme: string): Authorization {
  return (credential) => ({ authorization: `${scheme} ${singleKey(credential)}` });
}

const TOKEN_SECONDS = 1_800;
/** For a vendor's clock that is behind ours. */
const TOKEN_SLACK_SECONDS = 5;

/** A token that the secret key signs, made anew for each request; one key is sent as it is. RFC 7519, HS256. */
export const signedToken: Authorization = (credential, nowMs) => {
  if ('apiKey' in credential) return bearer(credential, nowMs);
  const now = Math.floor(nowMs / 1000);
  const claims = { iss: credential.accessKey, exp: now + TOKEN_SECONDS, nbf: now - TOKEN_SLACK_SECONDS };
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = createHmac('sha256', credential.secretKey).update(signed).digest('base64url');
  return { authorization: `Bearer ${signed}.${signature}` };
};

function singleKey(credential: Credential): string {
  if ('apiKey' in credential) return credential.apiKey;
  throw new Error('this upstream takes an api_key, not an access_key and a secret_key');
}
