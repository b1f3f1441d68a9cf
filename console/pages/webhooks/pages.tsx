/** The webhook endpoints of an account and their deliveries. */
import { registerEndpoint } from '../../../api/routes/webhooks/register.ts';
import { redeliverOne } from '../../../api/services/redeliver.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { countRedelivery, rotateSecret, sendTestEvent } from '../../../api/services/webhooks.ts';
import { DELIVERY_STATUSES, listDeliveries } from '../../../db/queries/deliveries.ts';
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  listWebhookEndpoints,
  updateWebhookEndpoint,
  type WebhookEndpoint,
} from '../../../db/queries/webhook-endpoints.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { readListPage } from '../../list-page.ts';
import { type PageResult, member, type MemberVisit } from '../../page.ts';
import { readChanges, readNewEndpoint } from './endpoint-form.tsx';
import { confirmDeletion, endpointList, endpointPage, secretPage } from './views.tsx';

const PATH = '/accounts/{account_id}/webhooks';
const DELIVERY_LIST = { kind: 'delivery', size: 20 } as const;

export const webhookPages = [
  member.page(PATH, 'develop', (visit, services) => list(visit, services, null)),
  member.form(PATH, 'develop', (visit, services) =>
    orProblem(
      async () => secretPage(visit, await create(visit, services)),
      (problem) => list(visit, services, problem),
    ),
  ),
  member.page(`${PATH}/{webhook_id}`, 'develop', async (visit, services) =>
    show(visit, services, await ownEndpoint(visit, services), null),
  ),
  change('', async (visit, { database, checkWebhookAddress }, { id }) => {
    const changes = readChanges(visit.form);
    if (changes.url !== undefined) await checkWebhookAddress(changes.url);
    await updateWebhookEndpoint(database, visit.account.accountId, id, changes);
  }),
  change('/enable', async ({ account }, { database }, { id }) => {
    await updateWebhookEndpoint(database, account.accountId, id, { enabled: true });
  }),
  change('/disable', async ({ account }, { database }, { id }) => {
    await updateWebhookEndpoint(database, account.accountId, id, { enabled: false });
  }),
  change('/test', async (_visit, { database }, endpoint) => {
    await sendTestEvent(database, endpoint);
  }),
  change('/deliveries/{delivery_id}/redeliver', async ({ account, params }, { database }, { id: endpointId }) => {
    const { accountId } = account;
    await countRedelivery(database, accountId);
    await redeliverOne(database, { accountId, endpointId, deliveryId: params['delivery_id'] ?? '' }, null);
  }),
  member.form(`${PATH}/{webhook_id}/rotate-secret`, 'develop', async (visit, services) => {
    const { account, params, texts } = visit;
    const of = { accountId: account.accountId, endpointId: params['webhook_id'] ?? '' };
    const rotated = isId('webhookEndpoint', of.endpointId) ? await rotateSecret(services, of) : null;
    if (!rotated) throw noSuchEndpoint();
    return secretPage(visit, { ...rotated, hint: texts.webhooks.rotated });
  }),
  member.page(`${PATH}/{webhook_id}/delete`, 'develop', async (visit, services) =>
    confirmDeletion(visit, await ownEndpoint(visit, services)),
  ),
  member.form(`${PATH}/{webhook_id}/delete`, 'develop', async (visit, services) => {
    const { id } = await ownEndpoint(visit, services);
    await deleteWebhookEndpoint(services.database, visit.account.accountId, id);
    return { kind: 'redirect', path: `/accounts/${visit.account.accountId}/webhooks` };
  }),
];

/** A form on the page of an endpoint. The page is shown again afterwards. */
function change(
  path: string,
  act: (visit: MemberVisit, services: ApiServices, endpoint: WebhookEndpoint) => Promise<void>,
) {
  return member.form(`${PATH}/{webhook_id}${path}`, 'develop', async (visit, services) => {
    const endpoint = await ownEndpoint(visit, services);
    return orProblem(
      async () => {
        await act(visit, services, endpoint);
        return { kind: 'redirect', path: `/accounts/${endpoint.accountId}/webhooks/${endpoint.id}` };
      },
      (problem) => show(visit, services, endpoint, problem),
    );
  });
}

/** Shows the problem of a form. `not_found` stays an error. */
async function orProblem(
  act: () => Promise<PageResult>,
  showAgain: (problem: ServiceError) => Promise<PageResult>,
): Promise<PageResult> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500 || error.code === 'not_found') throw error;
    return showAgain(error);
  }
}

async function create({ form, account }: MemberVisit, { database, sealer, checkWebhookAddress }: ApiServices) {
  const body = readNewEndpoint(form);
  await checkWebhookAddress(body.url);
  const { created, secret } = await database.transaction((transaction) =>
    registerEndpoint(transaction, sealer, account.accountId, body),
  );
  return { updated: created, secret };
}

async function list(visit: MemberVisit, { database }: ApiServices, problem: ServiceError | null): Promise<PageResult> {
  const { accountId } = visit.account;
  const endpoints = await listWebhookEndpoints(database, { accountId, limit: WEBHOOKS.maxEndpoints });
  return endpointList(visit, { endpoints, problem });
}

async function show(
  visit: MemberVisit,
  { database }: ApiServices,
  endpoint: WebhookEndpoint,
  problem: ServiceError | null,
): Promise<PageResult> {
  const filter = {
    accountId: visit.account.accountId,
    endpointId: endpoint.id,
    status: DELIVERY_STATUSES.find((status) => status === visit.query.get('status')),
  };
  const { entries: deliveries, next } = await readListPage(visit.query, DELIVERY_LIST, (slice) =>
    listDeliveries(database, { ...filter, ...slice }),
  );
  return endpointPage(visit, { endpoint, deliveries, next, problem });
}

/** @throws ServiceError `not_found`, also for another account's endpoint */
async function ownEndpoint({ account, params }: MemberVisit, { database }: ApiServices): Promise<WebhookEndpoint> {
  const endpoint = await findWebhookEndpoint(database, account.accountId, params['webhook_id'] ?? '');
  if (!endpoint) throw noSuchEndpoint();
  return endpoint;
}

function noSuchEndpoint(): ServiceError {
  return new ServiceError('not_found', 'There is no such webhook endpoint.');
}
