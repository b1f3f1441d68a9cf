import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { type Delivery, type DeliveryFilter, findDelivery, requestRedeliveries } from '../../db/queries/deliveries.ts';
import { badRequest } from '../../domain/errors.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { notFoundError } from '../../domain/not-found.ts';

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
