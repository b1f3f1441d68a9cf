/** Verification of webhooks: https://www.standardwebhooks.com */
import { WebhookVerificationError } from './errors.ts';
import type { LowBalanceEvent, TaskEvent, TestEvent } from './types.ts';

export type WebhookEvent = TaskEvent | LowBalanceEvent | TestEvent;

/** Headers of any framework: `Headers`, or an object whose names are in lower case. */
type HeadersOf = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const TOLERANCE_SECONDS = 300;

/**
 * The event of a delivery, once its signature and its time are right. The same event can arrive twice: remember its `id`.
 *
 * @param body the raw body, before anything parses it
 * @param secret the endpoint's secret, `whsec_…`; for a day after a rotation, the previous secret works as well
 * @throws WebhookVerificationError to answer with status 401
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeadersOf,
  secret: string,
): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? ''),
  );
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp ?? '') || ageSeconds > TOLERANCE_SECONDS) {
    throw new WebhookVerificationError('The timestamp is missing, or more than five minutes away from this clock.');
  }
  const raw = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + raw.length);
  signed.set(start);
  signed.set(raw, start.length);
  const key = await keyOf(secret);
  for (const signature of (signatures ?? '').split(' ').slice(0, MAX_SIGNATURES)) {
    const bytes = signature.startsWith('v1,') ? decode(signature.slice('v1,'.length)) : null;
    if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed))) {
      return JSON.parse(new TextDecoder().decode(raw));
    }
  }
  throw new WebhookVerificationError(
    'The signature is wrong: the body was changed, or the secret is of another endpoint.',
  );
}

/** Genway sends two at most. */
const MAX_SIGNATURES = 5;

async function keyOf(secret: string) {
  const bytes = decode(secret.replace(/^whsec_/, ''));
  // An empty secret would accept forgeries.
  if (!bytes || bytes.length === 0) throw new TypeError('The secret of a webhook endpoint looks like whsec_…');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function decode(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
