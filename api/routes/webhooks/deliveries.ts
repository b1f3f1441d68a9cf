/** Webhook deliveries and redelivery. */
import type { Database } from '../../../db/database.ts';
import { DELIVERY_STATUSES, listDeliveries as findDeliveries } from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../../domain/errors.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { ignoredJsonBody, jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { choiceParameter } from '../../endpoint/query.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { redeliverMissed, redeliverOne } from '../../../services/webhooks/redeliver.ts';
import { countRedelivery } from '../../../services/webhooks/webhooks.ts';
import { findOwnEndpoint } from './find-own-endpoint.ts';
import { DELIVERY } from '../../../services/resources/webhooks.ts';
import { type RedeliverBody, redeliverSchema } from '../../../services/input/webhooks.ts';

/** The query of lists of deliveries. */
export const DELIVERY_PAGE = {
  status: choiceParameter(DELIVERY_STATUSES, 'Filters by status'),
  ...pageById('delivery'),
};

/** The result of a call that sends many deliveries again. */
export const REDELIVERY = nested<Awaited<ReturnType<typeof redeliverMissed>>>({
  object: field.constant('webhook_redelivery'),
  count: field.integer('count'),
  left: field.integer('left'),
  has_more: field.boolean(({ left }) => left > 0),
});

/** Requests another attempt for the deliveries to an endpoint that a body selects. */
export async function redeliverSome(database: Database, endpoint: WebhookEndpoint, selection: RedeliverBody) {
  return REDELIVERY.present(await redeliverMissed(database, endpoint, selection));
}

export const deliveryEndpoints = endpoints('Webhooks', {
  listDeliveries: endpoint({
    request: 'GET /v1/webhooks/{webhook_id}/deliveries',
    access: 'key',
    summary: 'List deliveries to an endpoint, newest first',
    query: DELIVERY_PAGE,
    answers: { 200: pageOf(DELIVERY.schema, 'A page of deliveries') },
    handle: async ({ caller, params, query }, { database }) => {
      const { accountId, id: endpointId } = await findOwnEndpoint(database, caller, params.webhook_id);
      const filter = { accountId, endpointId, status: query.status };
      return listPage(query, (slice) => findDeliveries(database, { ...filter, ...slice }), DELIVERY.present);
    },
  }),
  redeliver: endpoint({
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
  }),
  redeliverMany: endpoint({
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
  }),
});
