/** Webhook endpoints: specification section 4.7, and their secrets and test events. */
import type Router from '@koa/router';
import { insertTestDelivery } from '../../../db/queries/deliveries.ts';
import { completeIdempotencyKey } from '../../../db/queries/idempotency.ts';
import {
  deleteWebhookEndpoint,
  insertWebhookEndpoint,
  listWebhookEndpoints,
  replaceWebhookSecret,
  updateWebhookEndpoint,
} from '../../../db/queries/webhook-endpoints.ts';
import { badRequest } from '../../../domain/errors.ts';
import { createdAtMsOf, newId } from '../../../domain/ids.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { TASK_EVENTS } from '../../../domain/webhook-event.ts';
import { newWebhookSecret } from '../../../net/webhook-signature.ts';
import { pageOf, presentPage } from '../../pagination.ts';
import { createAccountLimit } from '../../services/account-limit.ts';
import { claimLost, type CreatedResponse, idempotently, type IdempotencyClaim } from '../../services/idempotency.ts';
import type { ApiServices } from '../../services/services.ts';
import { callerOf, type RequestState } from '../../state.ts';
import { presentDelivery, presentEndpoint, renderTestEvent } from './present.ts';
import { idCursor, noSuchEndpoint, ownEndpoint, ownerAndId } from './query.ts';
import { type CreateEndpointBody, createEndpointParsers } from './schema.ts';

const TEST_EVENTS = { what: 'webhook test events', perMinute: WEBHOOKS.testEventsPerMinute };

export function webhookRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, sealer, authenticate, limitRequests, jsonBody, checkWebhookAddress } = services;
  const { parseCreate, parseUpdate } = createEndpointParsers(services.isPublicHttpsUrl);
  const limitTests = createAccountLimit(database, TEST_EVENTS);

  router.post('/v1/webhooks', authenticate, limitRequests, jsonBody, (context) =>
    idempotently(context, context.state.body, services, async (claim) => {
      const body = parseCreate(context.state.body);
      await checkWebhookAddress(body.url);
      return createEndpoint(callerOf(context).account.id, body, claim);
    }),
  );

  router.get('/v1/webhooks', authenticate, limitRequests, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const endpoints = await listWebhookEndpoints(database, {
      accountId: callerOf(context).account.id,
      before: idCursor('webhookEndpoint', after),
      limit: limit + 1,
    });
    context.body = presentPage(
      endpoints,
      limit,
      (endpoint) => presentEndpoint(endpoint),
      ({ id }) => [id],
    );
  });

  router.get('/v1/webhooks/:endpointId', authenticate, limitRequests, async (context) => {
    context.body = { data: presentEndpoint(await ownEndpoint(database, context)) };
  });

  router.patch('/v1/webhooks/:endpointId', authenticate, limitRequests, jsonBody, async (context) => {
    const changes = parseUpdate(context.state.body);
    if (changes.url !== undefined) await checkWebhookAddress(changes.url);
    const endpoint = await updateWebhookEndpoint(database, ...ownerAndId(context), changes);
    if (!endpoint) throw noSuchEndpoint();
    context.body = { data: presentEndpoint(endpoint) };
  });

  router.delete('/v1/webhooks/:endpointId', authenticate, limitRequests, async (context) => {
    const [accountId, endpointId] = ownerAndId(context);
    if (!(await deleteWebhookEndpoint(database, accountId, endpointId))) throw noSuchEndpoint();
    context.body = { data: { id: endpointId, object: 'webhook_endpoint', deleted: true } };
  });

  router.post('/v1/webhooks/:endpointId/rotate-secret', authenticate, limitRequests, jsonBody, async (context) => {
    const [accountId, endpointId] = ownerAndId(context);
    const secret = newWebhookSecret();
    const endpoint = await replaceWebhookSecret(database, {
      accountId,
      endpointId,
      sealedSecret: sealer.seal(secret, endpointId),
      overlapSeconds: WEBHOOKS.secretOverlapSeconds,
    });
    if (!endpoint) throw noSuchEndpoint();
    context.body = { data: presentEndpoint(endpoint, secret) };
  });

  router.post('/v1/webhooks/:endpointId/test', authenticate, limitRequests, jsonBody, async (context) => {
    const endpoint = await ownEndpoint(database, context);
    if (endpoint.disabledAt) throw badRequest('The endpoint is disabled. Enable it first.');
    await limitTests(endpoint.accountId);
    const eventId = newId('event');
    const createdAt = new Date(createdAtMsOf('event', eventId));
    const payload = renderTestEvent({ id: eventId, createdAt, endpoint });
    const delivery = await insertTestDelivery(database, endpoint, { id: eventId, payload, createdAt });
    context.status = 202;
    context.body = { data: presentDelivery(delivery) };
  });

  async function createEndpoint(
    accountId: string,
    { url, description = null, events = [...TASK_EVENTS] }: CreateEndpointBody,
    claim: IdempotencyClaim | null,
  ): Promise<CreatedResponse> {
    const id = newId('webhookEndpoint');
    const secret = newWebhookSecret();
    return database.transaction(async (transaction) => {
      const endpoint = await insertWebhookEndpoint(
        transaction,
        {
          id,
          accountId,
          url,
          description,
          events: [...new Set(events)],
          sealedSecret: sealer.seal(secret, id),
          createdAt: new Date(createdAtMsOf('webhookEndpoint', id)),
        },
        WEBHOOKS.maxEndpoints,
      );
      if (!endpoint)
        throw badRequest(`An account has at most ${WEBHOOKS.maxEndpoints} webhook endpoints. Delete one first.`);
      const body = JSON.stringify({ data: presentEndpoint(endpoint, secret) });
      if (claim) {
        const { key, claimToken } = claim;
        const completion = { accountId, key, claimToken, status: 201, sealedBody: claim.seal(body) };
        if (!(await completeIdempotencyKey(transaction, completion))) throw claimLost();
      }
      return { status: 201, body };
    });
  }
}
