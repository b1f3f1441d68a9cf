/**
 * Checks signatures of AWS, version 4, by the published steps.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface AwsKey {
  readonly secret: string;
  readonly sessionToken: string | null;
  readonly expiresAtMs: number;
}

interface Checks {
  readonly keys: ReadonlyMap<string, AwsKey>;
  readonly service: string;
  readonly nowMs: number;
}

const MAX_SKEW_MS = 5 * 60_000;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** @returns the name of the error; null if the signature is right */
export function verifySignature(request: IncomingMessage, body: string, checks: Checks): string | null {
  const { headers, method = '', url = '' } = request;
  const parsed =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (parsed === null) return 'MissingAuthenticationTokenException';
  const [, id = '', day = '', region = '', service = '', names = '', signature = ''] = parsed;
  const key = checks.keys.get(id);
  if (key === undefined || (key.sessionToken ?? undefined) !== headers['x-amz-security-token'])
    return 'UnrecognizedClientException';
  if (key.expiresAtMs <= checks.nowMs) return 'ExpiredTokenException';
  const date = String(headers['x-amz-date']);
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(at - checks.nowMs) <= MAX_SKEW_MS) || !date.startsWith(day)) return 'InvalidSignatureException';
  const hash = sha256(body);
  const claimed = headers['x-amz-content-sha256'];
  if (service !== checks.service || (claimed !== undefined && claimed !== hash)) return 'InvalidSignatureException';
  const signed = names.split(';');
  const isComplete = ['host', 'x-amz-date', ...(key.sessionToken ? ['x-amz-security-token'] : [])];
  if (!isComplete.every((name) => signed.includes(name))) return 'IncompleteSignatureException';
  const [path = '', query = ''] = url.split('?');
  const canonical = [
    method,
    path
      .split('/')
      .map((part) => encodeURIComponent(part))
      .join('/'),
    query.split('&').toSorted().join('&'),
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/\s+/g, ' ')}`),
    '',
    names,
    hash,
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const signing = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${key.secret}`);
  return hmac(signing, toSign).toString('hex') === signature ? null : 'InvalidSignatureException';
}
