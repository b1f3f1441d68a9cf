/** What the path and the query of a webhook call name. */
import type { Database } from '../../../db/database.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../db/queries/deliveries.ts';
import { findWebhookEndpoint, type WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { type IdKind, isId } from '../../../domain/ids.ts';
import { queryValue } from '../../pagination.ts';
import { callerOf, type Context } from '../../state.ts';

/** The caller's account and the endpoint in the path, in the order in which queries take them. */
export function ownerAndId(context: Context): readonly [accountId: string, endpointId: string] {
  return [callerOf(context).account.id, context.params['endpointId'] ?? ''];
}

/** The caller's endpoint in the path. @throws ServiceError `not_found` */
export async function ownEndpoint(database: Database, context: Context): Promise<WebhookEndpoint> {
  const endpoint = await findWebhookEndpoint(database, ...ownerAndId(context));
  if (!endpoint) throw noSuchEndpoint();
  return endpoint;
}

export function noSuchEndpoint(): ServiceError {
  return new ServiceError('not_found', 'There is no such webhook endpoint in this account. Check the id and the key.');
}

/** The id with which the previous page ended. @throws ServiceError `bad_request` */
export function idCursor(kind: IdKind, after: readonly string[] | undefined): string | undefined {
  const id = after?.[0];
  if (id !== undefined && !isId(kind, id)) throw badRequest('"cursor" must be the "next_cursor" of an earlier page');
  return id;
}

/** @throws ServiceError `bad_request` for what has not the form of such an id */
export function queryId(context: Context, name: string, kind: IdKind): string | undefined {
  const id = queryValue(context, name);
  if (id !== undefined && !isId(kind, id)) throw badRequest(`"${name}" is not such an id`);
  return id;
}

/** @throws ServiceError `bad_request` */
export function queryDeliveryStatus(context: Context): DeliveryStatus | undefined {
  const value = queryValue(context, 'status');
  const status = DELIVERY_STATUSES.find((known) => known === value);
  if (value !== undefined && status === undefined) {
    throw badRequest(`"status" must be one of: [${DELIVERY_STATUSES.join(' ')}]`);
  }
  return status;
}
