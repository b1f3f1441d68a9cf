/** Webhook endpoints of all accounts, for operators: registering them, finding the failing ones, and redelivering. */
import { requestRedeliveries } from '../../../db/queries/deliveries.ts';
import { findAnyWebhookEndpoint, listAllWebhookEndpoints } from '../../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../../domain/errors.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { pageById, pageOf, presentPage } from '../../endpoint/page.ts';
import { noSuch } from '../../endpoint/path.ts';
import { aFlag, anId } from '../../endpoint/query.ts';
import { existingAccount } from '../../services/existing-account.ts';
import { RedeliverySchema } from './deliveries.ts';
import { ADMIN_ENDPOINT } from './present.ts';
import { registerEndpoint } from './register.ts';
import { createEndpointSchema, redeliverSchema, toDate } from './schema.ts';

export const createWebhookOfAccount = endpoint({
  id: 'createWebhookOfAccount',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/accounts/{account_id}/webhooks',
  access: 'admin',
  summary: 'Create a webhook endpoint for an account',
  description: 'Only this answer shows the secret that signs deliveries. Pass it to the customer.',
  body: jsonBody('CreateWebhook', createEndpointSchema),
  answers: { 201: dataOf(ADMIN_ENDPOINT.schema, 'The endpoint with its secret') },
  handle: async ({ params, body }, { database, sealer, checkWebhookAddress }) => {
    const { id: accountId } = await existingAccount(database, params.account_id);
    await checkWebhookAddress(body.url);
    const { created, secret } = await database.transaction((transaction) =>
      registerEndpoint(transaction, sealer, accountId, body),
    );
    return { data: ADMIN_ENDPOINT.present({ ...created, secret }) };
  },
});

export const listAllWebhooks = endpoint({
  id: 'listAllWebhooks',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/webhooks',
  access: 'admin-read',
  summary: 'List webhook endpoints of all accounts, newest first',
  query: {
    account_id: anId('account', 'Only endpoints of that account'),
    failing: aFlag('Only endpoints whose last attempt failed, disabled ones included; or only the others'),
    ...pageById('webhookEndpoint'),
  },
  answers: { 200: pageOf(ADMIN_ENDPOINT.schema, 'A page of endpoints') },
  handle: async ({ query: { account_id: accountId, failing, cursor: before, limit } }, { database }) => {
    const found = await listAllWebhookEndpoints(database, { accountId, failing, before, limit: limit + 1 });
    return presentPage(found, limit, ADMIN_ENDPOINT.present);
  },
});

export const redeliverAllOfWebhook = endpoint({
  id: 'redeliverAllOfWebhook',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/webhooks/{webhook_id}/redeliver',
  access: 'admin',
  summary: 'Redeliver many events to any endpoint',
  description: `At most ${WEBHOOKS.redeliveriesPerCall} in one call; while \`has_more\` is true, call again.`,
  body: jsonBody('Redeliver', redeliverSchema),
  answers: { 202: dataOf(RedeliverySchema, 'Number of deliveries that are pending again') },
  handle: async ({ params, body: { from, to, status = 'failed' } }, { database }) => {
    const found = await findAnyWebhookEndpoint(database, params.webhook_id);
    if (!found) throw noSuch('webhookEndpoint');
    if (found.disabledAt) throw badRequest('The endpoint is disabled. Its owner has to enable it first.');
    const { count, left } = await requestRedeliveries(database, {
      accountId: found.accountId,
      endpointId: found.id,
      status,
      from: toDate(from),
      to: to === undefined ? undefined : toDate(to),
      limit: WEBHOOKS.redeliveriesPerCall,
    });
    return { data: { object: 'webhook_redelivery', count, left, has_more: left > 0 } };
  },
});
