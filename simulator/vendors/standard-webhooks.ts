import { createHmac, randomUUID } from 'node:crypto';
import type { Announcement } from './simulate-vendor.ts';

/** An announcement signed as https://www.standardwebhooks.com specifies. @param secret `whsec_` and the key in Base64 */
export function signedAnnouncement(content: object, secret: string): Announcement {
  const body = JSON.stringify(content);
  const id = `msg_${randomUUID()}`;
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${digest}`,
    },
    body,
  };
}
