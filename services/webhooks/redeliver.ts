import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import {
  type Delivery,
  type DeliveryFilter,
  type DeliveryStatus,
  findDelivery,
  requestRedeliveries,
} from '../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import type { Period } from '../../db/period.ts';
import { badRequest } from '../../domain/errors.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { notFoundError } from '../../domain/not-found.ts';

/** A receiver that was unavailable has missed the deliveries that failed, and those that wait for a later attempt. */
const MISSED: readonly DeliveryStatus[] = ['failed', 'pending'];

/**
 * Sends the oldest missed deliveries to an endpoint again, at most {@link WEBHOOKS.redeliveriesPerCall}.
 *
 * @param selection the time of the events; `status`: only deliveries with this status
 * @returns how many are pending again, and how many more match
 */
export function redeliverMissed(
  database: Database,
  { accountId, id: endpointId }: WebhookEndpoint,
  { status, ...period }: Period & { readonly status?: DeliveryStatus | undefined } = {},
): Promise<{ readonly count: number; readonly left: number }> {
  const statuses = status === undefined ? MISSED : [status];
  const limit = WEBHOOKS.redeliveriesPerCall;
  return requestRedeliveries(database, { accountId, endpointId, statuses, ...period, limit });
}

/**
 * Sends one delivery again.
 *
 * @param caller null for an operator
 * @returns the delivery, pending again
 * @throws ServiceError `not_found`, or `bad_request` when it cannot be sent again
 */
export async function redeliverOne(
  database: Database,
  filter: DeliveryFilter & { readonly deliveryId: string },
  caller: Caller | null,
): Promise<Delivery> {
  if (!(await findDelivery(database, filter))) throw notFoundError('delivery', caller);
  if ((await requestRedeliveries(database, { ...filter, limit: 1 })).count === 0) {
    throw badRequest(
      `The delivery cannot be sent again: its endpoint is disabled or deleted, or it has had ${WEBHOOKS.maxAttempts} attempts.`,
    );
  }
  const delivery = await findDelivery(database, filter);
  if (!delivery) throw notFoundError('delivery', caller);
  return delivery;
}
