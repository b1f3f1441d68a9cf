/**
 * Signatures of webhook deliveries: the service's own (contract 6), and that of Standard Webhooks
 * (https://www.standardwebhooks.com). Receivers may check either.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { WEBHOOKS } from './policy.ts';
import { isSameSecret } from './same-secret.ts';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes an endpoint secret: `whsec_` and the base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

interface SignedContent {
  /** The endpoint's secret, in the form that its owner received. */
  readonly secret: string;
  /** Unix seconds. */
  readonly timestampSeconds: number;
  /** The raw body, byte for byte. */
  readonly body: string | Uint8Array;
}

/** The value of `x-svc-signature`: hex HMAC-SHA256 over the timestamp, a full stop and the raw body. */
export function signDelivery({ secret, timestampSeconds, body }: SignedContent): string {
  return createHmac('sha256', secret).update(`${timestampSeconds}.`).update(body).digest('hex');
}

/**
 * Checks a delivery as a receiver should: the signature in constant time, and a timestamp within 5 minutes of now.
 *
 * @param delivery the received delivery; `timestamp` and `signature` are the values of the headers
 */
export function verifySignature(delivery: {
  readonly secret: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string | Uint8Array;
  readonly nowSeconds: number;
}): boolean {
  const { secret, timestamp, signature, body, nowSeconds } = delivery;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  const timestampSeconds = Number(timestamp);
  if (Math.abs(nowSeconds - timestampSeconds) > WEBHOOKS.timestampToleranceSeconds) return false;
  const expected = Buffer.from(signDelivery({ secret, timestampSeconds, body }));
  return isSameSecret(expected, Buffer.from(signature));
}

/** One attempt to deliver an event to an endpoint. */
interface Delivery extends SignedContent {
  /** The same for every attempt, so that receivers can drop repeats. */
  readonly messageId: string;
  /** `task.succeeded` or `task.failed`. */
  readonly event: string;
}

/** Makes all headers of a delivery. Call it for each attempt, because receivers refuse old timestamps. */
export function deliveryHeaders(delivery: Delivery): Record<string, string> {
  const timestamp = String(delivery.timestampSeconds);
  return {
    'content-type': 'application/json',
    'user-agent': 'Genway-Webhooks/1',
    'x-svc-event': delivery.event,
    'x-svc-timestamp': timestamp,
    'x-svc-signature': signDelivery(delivery),
    'webhook-id': delivery.messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signStandardWebhook(delivery),
  };
}

/**
 * The value of `webhook-signature`: `v1,` and the base64 HMAC-SHA256 over id, timestamp and body, joined by full stops,
 * keyed with the bytes that the secret encodes in base64.
 */
function signStandardWebhook({ secret, messageId, timestampSeconds, body }: Delivery): string {
  const key = Buffer.from(secret.replace(SECRET_PREFIX, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${messageId}.${timestampSeconds}.`).update(body).digest('base64');
  return `v1,${digest}`;
}
