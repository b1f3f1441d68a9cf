import type { Caller } from '../../../db/queries/api-keys.ts';
import type { Database } from '../../../db/database.ts';
import { findWebhookEndpoint, type WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { notFoundError } from '../../../domain/not-found.ts';

/** Finds the caller's endpoint with this id. @throws ServiceError `not_found` */
export async function findOwnEndpoint(database: Database, caller: Caller, id: string): Promise<WebhookEndpoint> {
  const endpoint = await findWebhookEndpoint(database, caller.account.id, id);
  if (!endpoint) throw notFoundError('webhookEndpoint', caller);
  return endpoint;
}
