/** Webhook deliveries and redelivery, for clients and operators. */
import type { Database } from '../../../db/database.ts';
import {
  type Delivery,
  DELIVERY_STATUSES,
  listDeliveries as findDeliveries,
  requestRedeliveries,
} from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../../domain/errors.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { ignoredJsonBody, jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { idParameter, choiceParameter } from '../../endpoint/query.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { redeliverOne } from '../../../services/webhooks/redeliver.ts';
import { countRedelivery } from '../../../services/webhooks/webhooks.ts';
import { findOwnEndpoint } from './find-own-endpoint.ts';
import { ADMIN_DELIVERY, DELIVERY } from './present.ts';
import { type RedeliverBody, redeliverSchema, toDate } from './schema.ts';

const PAGE = { status: choiceParameter(DELIVERY_STATUSES, 'Filters by status'), ...pageById('delivery') };

/** The result of a call that sends many deliveries again. */
export const REDELIVERY = nested<Awaited<ReturnType<typeof requestRedeliveries>>>({
  object: field.constant('webhook_redelivery'),
  count: field.integer('count'),
  left: field.integer('left'),
  has_more: field.boolean(({ left }) => left > 0),
});

/** Requests another attempt for the deliveries to an endpoint that a body selects. */
export async function redeliverSome(
  database: Database,
  { accountId, id: endpointId }: WebhookEndpoint,
  { from, to, status = 'failed' }: RedeliverBody,
) {
  const requested = await requestRedeliveries(database, {
    accountId,
    endpointId,
    status,
    from: toDate(from),
    to: to === undefined ? undefined : toDate(to),
    limit: WEBHOOKS.redeliveriesPerCall,
  });
  return REDELIVERY.present(requested);
}

export const listDeliveries = endpoint({
  request: 'GET /v1/webhooks/{webhook_id}/deliveries',
  access: 'key',
  summary: 'List deliveries to an endpoint, newest first',
  query: PAGE,
  answers: { 200: pageOf(DELIVERY.schema, 'A page of deliveries') },
  handle: async ({ caller, params, query }, { database }) => {
    const { accountId, id: endpointId } = await findOwnEndpoint(database, caller, params.webhook_id);
    const filter = { accountId, endpointId, status: query.status };
    return listPage(query, (slice) => findDeliveries(database, { ...filter, ...slice }), DELIVERY.present);
  },
});

export const redeliver = endpoint({
  request: 'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  access: 'key',
  summary: 'Redeliver an event',
  body: ignoredJsonBody,
  answers: { 202: dataOf(DELIVERY.schema, 'The delivery, pending again') },
  handle: async ({ caller, params: { webhook_id, delivery_id: deliveryId } }, { database }) => {
    const { accountId, id: endpointId } = await findOwnEndpoint(database, caller, webhook_id);
    await countRedelivery(database, accountId);
    return { data: DELIVERY.present(await redeliverOne(database, { accountId, endpointId, deliveryId }, caller)) };
  },
});

export const redeliverMany = endpoint({
  request: 'POST /v1/webhooks/{webhook_id}/redeliver',
  access: 'key',
  summary: 'Redeliver many events',
  description:
    `Redelivers at most ${WEBHOOKS.redeliveriesPerCall} events. If \`has_more\` is true, call again. ` +
    `An account may make ${WEBHOOKS.redeliveryCallsPerMinute} of these calls a minute, single redeliveries included.`,
  body: jsonBody('Redeliver', redeliverSchema, {
    outage: { value: { from: '2026-10-01T08:00:00Z', to: '2026-10-01T10:30:00Z' } },
  }),
  answers: {
    202: dataOf(REDELIVERY.schema, 'The number of deliveries that are pending again'),
  },
  handle: async ({ caller, params, body }, { database }) => {
    const owned = await findOwnEndpoint(database, caller, params.webhook_id);
    if (owned.disabledAt) throw badRequest('The endpoint is disabled. Enable it first.');
    await countRedelivery(database, owned.accountId);
    return { data: await redeliverSome(database, owned, body) };
  },
});

export const listAllDeliveries = endpoint({
  request: 'GET /admin/v1/webhooks/deliveries',
  access: 'admin-read',
  summary: 'List deliveries of all accounts, newest first',
  query: {
    account_id: idParameter('account', 'Filters by account'),
    endpoint_id: idParameter('webhookEndpoint', 'Filters by endpoint'),
    task_id: idParameter('task', 'Filters by task'),
    ...PAGE,
  },
  answers: { 200: pageOf(ADMIN_DELIVERY.schema, 'A page of deliveries') },
  handle: ({ query }, { database, temporal }) => {
    const { account_id: accountId, endpoint_id: endpointId, task_id: taskId, status } = query;
    const filter = { accountId, endpointId, taskId, status };
    const present = (delivery: Delivery) => ADMIN_DELIVERY.present({ ...delivery, temporal });
    return listPage(query, (slice) => findDeliveries(database, { ...filter, ...slice }), present);
  },
});

export const redeliverAny = endpoint({
  request: 'POST /admin/v1/webhooks/deliveries/{delivery_id}/redeliver',
  access: 'admin',
  summary: 'Redeliver an event of any account',
  body: ignoredJsonBody,
  answers: { 202: dataOf(ADMIN_DELIVERY.schema, 'The delivery, pending again') },
  handle: async ({ params }, { database, temporal }) => {
    const delivery = await redeliverOne(database, { deliveryId: params.delivery_id }, null);
    return { data: ADMIN_DELIVERY.present({ ...delivery, temporal }) };
  },
});
