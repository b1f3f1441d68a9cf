/** What became of webhook deliveries, and sending them again, for clients and for operators. */
import type Router from '@koa/router';
import type { Database } from '../../../db/database.ts';
import {
  type Delivery,
  type DeliveryFilter,
  findDelivery,
  listDeliveries,
  requestRedeliveries,
} from '../../../db/queries/deliveries.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { pageOf, presentPage } from '../../pagination.ts';
import { createAccountLimit } from '../../services/account-limit.ts';
import type { ApiServices } from '../../services/services.ts';
import type { RequestState } from '../../state.ts';
import { presentAdminDelivery, presentDelivery } from './present.ts';
import { idCursor, ownEndpoint, queryDeliveryStatus, queryId } from './query.ts';
import { parseRedeliver, toDate } from './schema.ts';

const REDELIVERY_CALLS = { what: 'webhook redeliveries', perMinute: WEBHOOKS.redeliveryCallsPerMinute };

export function deliveryRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, authenticate, limitRequests, jsonBody } = services;
  const limitRedeliveries = createAccountLimit(database, REDELIVERY_CALLS);

  router.get('/v1/webhooks/:endpointId/deliveries', authenticate, limitRequests, async (context) => {
    const { accountId, id } = await ownEndpoint(database, context);
    const { limit, after } = pageOf(context, 1);
    const deliveries = await listDeliveries(database, {
      accountId,
      endpointId: id,
      status: queryDeliveryStatus(context),
      before: idCursor('delivery', after),
      limit: limit + 1,
    });
    context.body = presentPage(deliveries, limit, presentDelivery, (delivery) => [delivery.id]);
  });

  router.post(
    '/v1/webhooks/:endpointId/deliveries/:deliveryId/redeliver',
    authenticate,
    limitRequests,
    jsonBody,
    async (context) => {
      const { accountId, id } = await ownEndpoint(database, context);
      const deliveryId = context.params['deliveryId'] ?? '';
      await limitRedeliveries(accountId);
      context.status = 202;
      context.body = { data: presentDelivery(await redeliver(database, { accountId, endpointId: id, deliveryId })) };
    },
  );

  router.post('/v1/webhooks/:endpointId/redeliver', authenticate, limitRequests, jsonBody, async (context) => {
    const { accountId, id, disabledAt } = await ownEndpoint(database, context);
    const { from, to, status = 'failed' } = parseRedeliver(context.state.body);
    if (disabledAt) throw badRequest('The endpoint is disabled. Enable it first.');
    await limitRedeliveries(accountId);
    const { count, left } = await requestRedeliveries(database, {
      accountId,
      endpointId: id,
      status,
      from: toDate(from),
      to: to === undefined ? undefined : toDate(to),
      limit: WEBHOOKS.redeliveriesPerCall,
    });
    context.status = 202;
    context.body = { data: { object: 'webhook_redelivery', count, left, has_more: left > 0 } };
  });
}

export function adminDeliveryRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, temporal, requireAdmin, jsonBody } = services;

  router.get('/admin/v1/webhooks/deliveries', requireAdmin, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const deliveries = await listDeliveries(database, {
      accountId: queryId(context, 'account_id', 'account'),
      endpointId: queryId(context, 'endpoint_id', 'webhookEndpoint'),
      taskId: queryId(context, 'task_id', 'task'),
      status: queryDeliveryStatus(context),
      before: idCursor('delivery', after),
      limit: limit + 1,
    });
    context.body = presentPage(
      deliveries,
      limit,
      (delivery) => presentAdminDelivery(delivery, temporal),
      (delivery) => [delivery.id],
    );
  });

  router.post('/admin/v1/webhooks/deliveries/:deliveryId/redeliver', requireAdmin, jsonBody, async (context) => {
    const delivery = await redeliver(database, { deliveryId: context.params['deliveryId'] ?? '' });
    context.status = 202;
    context.body = { data: presentAdminDelivery(delivery, temporal) };
  });
}

/** @returns the delivery, pending again */
async function redeliver(
  database: Database,
  filter: DeliveryFilter & { readonly deliveryId: string },
): Promise<Delivery> {
  if (!(await findDelivery(database, filter))) throw noSuchDelivery();
  if ((await requestRedeliveries(database, { ...filter, limit: 1 })).count === 0) {
    throw badRequest(
      `The delivery cannot be sent again: its endpoint is disabled or deleted, or it has had ${WEBHOOKS.maxAttempts} attempts.`,
    );
  }
  const delivery = await findDelivery(database, filter);
  if (!delivery) throw noSuchDelivery();
  return delivery;
}

function noSuchDelivery(): ServiceError {
  return new ServiceError('not_found', 'There is no such delivery. Check the id.');
}
