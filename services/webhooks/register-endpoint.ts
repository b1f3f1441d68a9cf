/** Registers a webhook endpoint, for calls by the account and by the administration. */
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { insertWebhookEndpoint, type WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../domain/errors.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { TASK_EVENTS } from '../../domain/webhook-event.ts';
import { newWebhookSecret } from '../../domain/webhook-signature.ts';
import type { CreateEndpointBody } from '../input/webhooks.ts';

/** @throws ServiceError `bad_request` if the account has too many endpoints */
export async function registerEndpoint(
  transaction: Database,
  encryption: Encryption,
  accountId: string,
  { url, description = null, events = [...TASK_EVENTS] }: CreateEndpointBody,
): Promise<{ readonly created: WebhookEndpoint; readonly secret: string }> {
  const id = newId('webhookEndpoint');
  const secret = newWebhookSecret();
  const created = await insertWebhookEndpoint(
    transaction,
    {
      id,
      accountId,
      url,
      description,
      events: [...new Set(events)],
      encryptedSecret: encryption.encrypt(secret, id),
      createdAt: new Date(createdAtMsOf('webhookEndpoint', id)),
    },
    WEBHOOKS.maxEndpoints,
  );
  if (!created) {
    throw badRequest(`An account has at most ${WEBHOOKS.maxEndpoints} webhook endpoints. Delete one first.`);
  }
  return { created, secret };
}
