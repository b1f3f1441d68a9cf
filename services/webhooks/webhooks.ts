/** Actions of accounts on their webhook endpoints, by the API or in the console. */
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { type Delivery, insertTestDelivery } from '../../db/queries/deliveries.ts';
import { replaceWebhookSecret, type WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../domain/errors.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { renderEvent } from '../../domain/webhook-event.ts';
import { newWebhookSecret } from '../../domain/webhook-signature.ts';
import { TEST_EVENT } from './test-event.ts';
import { countAction } from '../people/account-limit.ts';

const TEST_EVENTS = { what: 'webhook test events', perMinute: WEBHOOKS.testEventsPerMinute };
const REDELIVERIES = { what: 'webhook redeliveries', perMinute: WEBHOOKS.redeliveryCallsPerMinute };

/** Sends an event to try an endpoint. @throws ServiceError `bad_request` while it is disabled, `rate_limit_exceeded` */
export async function sendTestEvent(database: Database, endpoint: WebhookEndpoint): Promise<Delivery> {
  if (endpoint.disabledAt) throw badRequest('The endpoint is disabled. Enable it first.');
  await countAction(database, endpoint.accountId, TEST_EVENTS);
  const id = newId('event');
  const createdAt = new Date(createdAtMsOf('event', id));
  const payload = renderEvent(TEST_EVENT, { id, createdAt, endpoint });
  return insertTestDelivery(database, endpoint, { id, payload, createdAt });
}

/** Adds a new secret. The old one also signs for a while. @returns null for an unknown endpoint */
export async function rotateSecret(
  { database, encryption }: { readonly database: Database; readonly encryption: Encryption },
  { accountId, endpointId }: { readonly accountId: string; readonly endpointId: string },
): Promise<{ readonly updated: WebhookEndpoint; readonly secret: string } | null> {
  const secret = newWebhookSecret();
  const updated = await replaceWebhookSecret(database, {
    accountId,
    endpointId,
    encryptedSecret: encryption.encrypt(secret, endpointId),
    overlapSeconds: WEBHOOKS.secretOverlapSeconds,
  });
  return updated && { updated, secret };
}

/** Counts a call that sends deliveries again. @throws ServiceError `rate_limit_exceeded` */
export function countRedelivery(database: Database, accountId: string): Promise<void> {
  return countAction(database, accountId, REDELIVERIES);
}
