/** Webhook deliveries and redelivery, for clients and operators. */
import {
  DELIVERY_STATUSES,
  listDeliveries as findDeliveries,
  requestRedeliveries,
} from '../../../db/queries/deliveries.ts';
import { badRequest } from '../../../domain/errors.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { ignoredJsonBody, jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { pageById, pageOf, presentPage } from '../../endpoint/page.ts';
import { anId, oneOf } from '../../endpoint/query.ts';
import { boolean, exactly, integer, object } from '../../../domain/json-schema.ts';
import { redeliverOne } from '../../services/redeliver.ts';
import { countRedelivery } from '../../services/webhooks.ts';
import { ownEndpoint } from './own-endpoint.ts';
import { ADMIN_DELIVERY, DELIVERY } from './present.ts';
import { redeliverSchema, toDate } from './schema.ts';

const PAGE = { status: oneOf(DELIVERY_STATUSES, 'Only deliveries in that state'), ...pageById('delivery') };

/** Of many deliveries at once. */
export const RedeliverySchema = object({
  object: exactly('webhook_redelivery'),
  count: integer(),
  left: integer(),
  has_more: boolean(),
});

export const listDeliveries = endpoint({
  id: 'listDeliveries',
  tag: 'Webhooks',
  method: 'get',
  path: '/v1/webhooks/{webhook_id}/deliveries',
  access: 'key',
  summary: 'List deliveries to an endpoint, newest first',
  query: PAGE,
  answers: { 200: pageOf(DELIVERY.schema, 'A page of deliveries') },
  handle: async ({ caller, params, query: { status, limit, cursor: before } }, { database }) => {
    const { accountId, id: endpointId } = await ownEndpoint(database, caller, params.webhook_id);
    const found = await findDeliveries(database, { accountId, endpointId, status, before, limit: limit + 1 });
    return presentPage(found, limit, DELIVERY.present);
  },
});

export const redeliver = endpoint({
  id: 'redeliver',
  tag: 'Webhooks',
  method: 'post',
  path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  access: 'key',
  summary: 'Redeliver an event',
  body: ignoredJsonBody,
  answers: { 202: dataOf(DELIVERY.schema, 'The delivery, pending again') },
  handle: async ({ caller, params: { webhook_id, delivery_id: deliveryId } }, { database }) => {
    const { accountId, id: endpointId } = await ownEndpoint(database, caller, webhook_id);
    await countRedelivery(database, accountId);
    return { data: DELIVERY.present(await redeliverOne(database, { accountId, endpointId, deliveryId }, caller)) };
  },
});

export const redeliverMany = endpoint({
  id: 'redeliverMany',
  tag: 'Webhooks',
  method: 'post',
  path: '/v1/webhooks/{webhook_id}/redeliver',
  access: 'key',
  summary: 'Redeliver many events',
  description:
    `At most ${WEBHOOKS.redeliveriesPerCall} in one call; while \`has_more\` is true, call again. ` +
    `An account may call this ${WEBHOOKS.redeliveryCallsPerMinute} times a minute, single redeliveries included.`,
  body: jsonBody('Redeliver', redeliverSchema, {
    outage: { value: { from: '2026-10-01T08:00:00Z', to: '2026-10-01T10:30:00Z' } },
  }),
  answers: {
    202: dataOf(RedeliverySchema, 'Number of deliveries that are pending again'),
  },
  handle: async ({ caller, params, body: { from, to, status = 'failed' } }, { database }) => {
    const { accountId, id: endpointId, disabledAt } = await ownEndpoint(database, caller, params.webhook_id);
    if (disabledAt) throw badRequest('The endpoint is disabled. Enable it first.');
    await countRedelivery(database, accountId);
    const { count, left } = await requestRedeliveries(database, {
      accountId,
      endpointId,
      status,
      from: toDate(from),
      to: to === undefined ? undefined : toDate(to),
      limit: WEBHOOKS.redeliveriesPerCall,
    });
    return { data: { object: 'webhook_redelivery', count, left, has_more: left > 0 } };
  },
});

export const listAllDeliveries = endpoint({
  id: 'listAllDeliveries',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/webhooks/deliveries',
  access: 'admin-read',
  summary: 'List deliveries of all accounts, newest first',
  query: {
    account_id: anId('account', 'Only deliveries of that account'),
    endpoint_id: anId('webhookEndpoint', 'Only deliveries to that endpoint'),
    task_id: anId('task', 'Only deliveries about that task'),
    ...PAGE,
  },
  answers: { 200: pageOf(ADMIN_DELIVERY.schema, 'A page of deliveries') },
  handle: async ({ query }, { database, temporal }) => {
    const { account_id: accountId, endpoint_id: endpointId, task_id: taskId, status, cursor: before, limit } = query;
    const filter = { accountId, endpointId, taskId, status, before };
    const found = await findDeliveries(database, { ...filter, limit: limit + 1 });
    return presentPage(found, limit, (delivery) => ADMIN_DELIVERY.present({ ...delivery, temporal }));
  },
});

export const redeliverAny = endpoint({
  id: 'redeliverAny',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/webhooks/deliveries/{delivery_id}/redeliver',
  access: 'admin',
  summary: 'Redeliver an event of any account',
  body: ignoredJsonBody,
  answers: { 202: dataOf(ADMIN_DELIVERY.schema, 'The delivery, pending again') },
  handle: async ({ params }, { database, temporal }) => {
    const delivery = await redeliverOne(database, { deliveryId: params.delivery_id }, null);
    return { data: ADMIN_DELIVERY.present({ ...delivery, temporal }) };
  },
});
