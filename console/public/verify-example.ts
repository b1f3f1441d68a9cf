/** How a receiver verifies a delivery, as the guide shows it. */
export const VERIFY_EXAMPLE = `import { createHmac, timingSafeEqual } from 'node:crypto';

/** body: the raw bytes of the delivery; secret: the endpoint's, as it was shown (whsec_…). */
export function isGenuine(headers, body, secret) {
  const timestamp = headers['x-svc-timestamp'] ?? '';
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;
  const expected = createHmac('sha256', secret).update(timestamp + '.').update(body).digest();
  const received = Buffer.from(headers['x-svc-signature'] ?? '', 'hex');
  return received.length === expected.length && timingSafeEqual(received, expected);
}`;
