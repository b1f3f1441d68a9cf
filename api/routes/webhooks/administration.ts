/** Webhook endpoints of all accounts and their deliveries, for operators. */
import { type Delivery, listDeliveries } from '../../../db/queries/deliveries.ts';
import { findAnyWebhookEndpoint, listAllWebhookEndpoints } from '../../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../../domain/errors.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { ignoredJsonBody, jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { flagParameter, idParameter } from '../../endpoint/query.ts';
import { existingOpenAccount } from '../../../services/people/existing-account.ts';
import { redeliverOne } from '../../../services/webhooks/redeliver.ts';
import { DELIVERY_PAGE, REDELIVERY, redeliverSome } from './deliveries.ts';
import { ADMIN_DELIVERY, ADMIN_ENDPOINT } from '../../../services/resources/webhooks.ts';
import { registerEndpoint } from '../../../services/webhooks/register-endpoint.ts';
import { createEndpointSchema, redeliverSchema } from '../../../services/input/webhooks.ts';

export const webhookAdministrationEndpoints = endpoints('Administration', {
  createWebhookOfAccount: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/webhooks',
    access: 'admin',
    summary: 'Create a webhook endpoint for an account',
    description: 'Only this answer shows the secret that signs deliveries. Pass the secret to the customer.',
    body: jsonBody('CreateWebhook', createEndpointSchema),
    answers: { 201: dataOf(ADMIN_ENDPOINT.schema, 'The endpoint with its secret') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params, body }, { database, encryption, checkPublicUrl }) => {
      const { id: accountId } = await existingOpenAccount(database, params.account_id);
      await checkPublicUrl(body.url);
      const { created, secret } = await database.transaction((transaction) =>
        registerEndpoint(transaction, encryption, accountId, body),
      );
      return { data: ADMIN_ENDPOINT.present({ ...created, secret }) };
    },
  }),
  listAllWebhooks: endpoint({
    request: 'GET /admin/v1/webhooks',
    access: 'admin-read',
    summary: 'List webhook endpoints of all accounts, newest first',
    query: {
      account_id: idParameter('account', 'Filters by account'),
      failing: flagParameter('True: endpoints whose last attempt failed. False: all other endpoints'),
      ...pageById('webhookEndpoint'),
    },
    answers: { 200: pageOf(ADMIN_ENDPOINT.schema, 'A page of endpoints') },
    handle: ({ query }, { database }) => {
      const filter = { accountId: query.account_id, failing: query.failing };
      return listPage(
        query,
        (slice) => listAllWebhookEndpoints(database, { ...filter, ...slice }),
        ADMIN_ENDPOINT.present,
      );
    },
  }),
  redeliverAllOfWebhook: endpoint({
    request: 'POST /admin/v1/webhooks/{webhook_id}/redeliver',
    access: 'admin',
    summary: 'Redeliver many events to any endpoint',
    description: `Redelivers at most ${WEBHOOKS.redeliveriesPerCall} events. If \`has_more\` is true, call again.`,
    body: jsonBody('Redeliver', redeliverSchema),
    answers: { 202: dataOf(REDELIVERY.schema, 'The number of deliveries that are pending again') },
    handle: async ({ params, body }, { database }) => {
      const found = await findAnyWebhookEndpoint(database, params.webhook_id);
      if (!found) throw notFoundError('webhookEndpoint');
      if (found.disabledAt) throw badRequest('The endpoint is disabled. The customer must enable the endpoint first.');
      return { data: await redeliverSome(database, found, body) };
    },
  }),
  listAllDeliveries: endpoint({
    request: 'GET /admin/v1/webhooks/deliveries',
    access: 'admin-read',
    summary: 'List deliveries of all accounts, newest first',
    query: {
      account_id: idParameter('account', 'Filters by account'),
      endpoint_id: idParameter('webhookEndpoint', 'Filters by endpoint'),
      task_id: idParameter('task', 'Filters by task'),
      ...DELIVERY_PAGE,
    },
    answers: { 200: pageOf(ADMIN_DELIVERY.schema, 'A page of deliveries') },
    handle: ({ query }, { database, operations: { temporal } }) => {
      const { account_id: accountId, endpoint_id: endpointId, task_id: taskId, status } = query;
      const filter = { accountId, endpointId, taskId, status };
      const present = (delivery: Delivery) => ADMIN_DELIVERY.present({ ...delivery, temporal });
      return listPage(query, (slice) => listDeliveries(database, { ...filter, ...slice }), present);
    },
  }),
  redeliverAny: endpoint({
    request: 'POST /admin/v1/webhooks/deliveries/{delivery_id}/redeliver',
    access: 'admin',
    summary: 'Redeliver an event of any account',
    body: ignoredJsonBody,
    answers: { 202: dataOf(ADMIN_DELIVERY.schema, 'The delivery, pending again') },
    handle: async ({ params }, { database, operations: { temporal } }) => {
      const delivery = await redeliverOne(database, { deliveryId: params.delivery_id }, null);
      return { data: ADMIN_DELIVERY.present({ ...delivery, temporal }) };
    },
  }),
});
