/** Standard Webhooks signatures with a shared secret: https://www.standardwebhooks.com. */
import { createHmac } from 'node:crypto';
import { isSameSecret } from '../../../domain/same-secret.ts';
import { assertRecent, type CallbackRequest, headerOf, InvalidCallbackError } from '../callbacks.ts';

const SECRET_PREFIX = /^whsec_/;
const VERSION_PREFIX = 'v1,';

/**
 * @param secret in base64, with or without `whsec_`
 * @throws InvalidCallbackError unless the secret signed the announcement, within five minutes of now
 */
export function assertStandardWebhook({ headers, rawBody }: CallbackRequest, secret: string, nowMs: number): void {
  const timestamp = headerOf(headers, 'webhook-timestamp');
  assertRecent(timestamp, nowMs);
  const expected = createHmac('sha256', Buffer.from(secret.replace(SECRET_PREFIX, ''), 'base64'))
    .update(`${headerOf(headers, 'webhook-id')}.${timestamp}.`)
    .update(rawBody)
    .digest();
  // While a secret is being replaced, the vendor sends a signature for the old and one for the new secret.
  const isSigned = headerOf(headers, 'webhook-signature')
    .split(' ')
    .filter((one) => one.startsWith(VERSION_PREFIX))
    .some((one) => isSameSecret(expected, Buffer.from(one.slice(VERSION_PREFIX.length), 'base64')));
  if (!isSigned) throw new InvalidCallbackError('the signature was not made with the secret');
}
