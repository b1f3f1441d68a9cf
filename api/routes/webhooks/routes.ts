/** Webhook endpoints (contract 4.7), their secrets and test events. */
import { completeIdempotencyKey } from '../../../db/queries/idempotency.ts';
import {
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  updateWebhookEndpoint,
} from '../../../db/queries/webhook-endpoints.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { ignoredJsonBody, jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { type CreateRequest, idempotentEndpoint } from '../../endpoint/idempotent.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { claimLostError, type CreatedResponse } from '../../../services/tasks/idempotency.ts';
import type { ApiServices } from '../../services.ts';
import { rotateSecret, sendTestEvent } from '../../../services/webhooks/webhooks.ts';
import { findOwnEndpoint } from './find-own-endpoint.ts';
import { DELETED_ENDPOINT, DELIVERY, ENDPOINT } from '../../../services/resources/webhooks.ts';
import { registerEndpoint } from '../../../services/webhooks/register-endpoint.ts';
import {
  type CreateEndpointBody,
  createEndpointSchema,
  updateEndpointSchema,
} from '../../../services/input/webhooks.ts';

export const webhookEndpoints = endpoints('Webhooks', {
  createWebhook: idempotentEndpoint({
    request: 'POST /v1/webhooks',
    summary: 'Create an endpoint',
    description: 'Only this answer shows the secret that signs deliveries.',
    body: jsonBody('CreateWebhook', createEndpointSchema, {
      both: { value: { url: 'https://example.com/hooks/genway', description: 'Production' } },
      failures: { value: { url: 'https://example.com/hooks/genway', events: ['task.failed'] } },
    }),
    created: dataOf(ENDPOINT.schema, 'The endpoint with its secret'),
    handle: async (request, services) => {
      await services.checkPublicUrl(request.body.url);
      return create(request, services);
    },
  }),
  listWebhooks: endpoint({
    request: 'GET /v1/webhooks',
    access: 'key',
    summary: 'List endpoints, newest first',
    query: pageById('webhookEndpoint'),
    answers: { 200: pageOf(ENDPOINT.schema, 'A page of endpoints') },
    handle: ({ caller: { account }, query }, { database }) =>
      listPage(query, (slice) => listWebhookEndpoints(database, { accountId: account.id, ...slice }), ENDPOINT.present),
  }),
  getWebhook: endpoint({
    request: 'GET /v1/webhooks/{webhook_id}',
    access: 'key',
    summary: 'Get one endpoint',
    answers: { 200: dataOf(ENDPOINT.schema, 'The endpoint') },
    handle: async ({ caller, params }, { database }) => {
      return { data: ENDPOINT.present(await findOwnEndpoint(database, caller, params.webhook_id)) };
    },
  }),
  updateWebhook: endpoint({
    request: 'PATCH /v1/webhooks/{webhook_id}',
    access: 'key',
    summary: 'Change an endpoint',
    description: 'Omitted fields stay unchanged.',
    body: jsonBody('UpdateWebhook', updateEndpointSchema, { pause: { value: { enabled: false } } }),
    answers: { 200: dataOf(ENDPOINT.schema, 'The changed endpoint') },
    handle: async ({ caller, params, body: changes }, { database, checkPublicUrl }) => {
      if (changes.url !== undefined) await checkPublicUrl(changes.url);
      const updated = await updateWebhookEndpoint(database, caller.account.id, params.webhook_id, changes);
      if (!updated) throw notFoundError('webhookEndpoint', caller);
      return { data: ENDPOINT.present(updated) };
    },
  }),
  deleteWebhook: endpoint({
    request: 'DELETE /v1/webhooks/{webhook_id}',
    access: 'key',
    summary: 'Delete an endpoint',
    answers: { 200: dataOf(DELETED_ENDPOINT.schema, 'The deleted endpoint') },
    handle: async ({ caller, params: { webhook_id: id } }, { database }) => {
      if (!(await deleteWebhookEndpoint(database, caller.account.id, id)))
        throw notFoundError('webhookEndpoint', caller);
      return { data: DELETED_ENDPOINT.present({ id }) };
    },
  }),
  rotateWebhookSecret: endpoint({
    request: 'POST /v1/webhooks/{webhook_id}/rotate-secret',
    access: 'key',
    summary: 'Replace the secret of an endpoint',
    description: 'For 24 hours, the old secret also signs deliveries, for receivers that accept several signatures.',
    body: ignoredJsonBody,
    answers: { 200: dataOf(ENDPOINT.schema, 'The endpoint with its new secret') },
    handle: async ({ caller, params: { webhook_id: endpointId } }, services) => {
      const rotated = await rotateSecret(services, { accountId: caller.account.id, endpointId });
      if (!rotated) throw notFoundError('webhookEndpoint', caller);
      return { data: ENDPOINT.present({ ...rotated.updated, secret: rotated.secret }) };
    },
  }),
  testWebhook: endpoint({
    request: 'POST /v1/webhooks/{webhook_id}/test',
    access: 'key',
    summary: 'Send a test event',
    body: ignoredJsonBody,
    answers: { 202: dataOf(DELIVERY.schema, 'The delivery. The list of deliveries shows its outcome') },
    handle: async ({ caller, params }, { database }) => {
      const tested = await findOwnEndpoint(database, caller, params.webhook_id);
      return { data: DELIVERY.present(await sendTestEvent(database, tested)) };
    },
  }),
});

async function create(
  { caller, body, claim }: CreateRequest<CreateEndpointBody>,
  { database, encryption }: ApiServices,
): Promise<CreatedResponse> {
  const accountId = caller.account.id;
  return database.transaction(async (transaction) => {
    const { created, secret } = await registerEndpoint(transaction, encryption, accountId, body);
    const answer = JSON.stringify({ data: ENDPOINT.present({ ...created, secret }) });
    if (claim) {
      const { key, claimToken } = claim;
      const completion = { accountId, key, claimToken, status: 201, encryptedBody: claim.encrypt(answer) };
      if (!(await completeIdempotencyKey(transaction, completion))) throw claimLostError();
    }
    return { status: 201, body: answer };
  });
}
