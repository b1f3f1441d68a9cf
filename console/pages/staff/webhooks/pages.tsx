/** Webhook endpoints of all accounts and their deliveries. By default, the list shows failing endpoints. */
import { redeliverOne } from '../../../../api/services/redeliver.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { DELIVERY_STATUSES, listDeliveries, requestRedeliveries } from '../../../../db/queries/deliveries.ts';
import {
  findAnyWebhookEndpoint,
  listAllWebhookEndpoints,
  type WebhookEndpoint,
} from '../../../../db/queries/webhook-endpoints.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { WEBHOOKS } from '../../../../domain/policy.ts';
import { carryOut, FormError } from '../../../form-problem.ts';
import { readListPage } from '../../../list-page.ts';
import { accountIn, unlessOpen } from '../../../part-filter.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { EndpointContent, EndpointList } from './endpoints.tsx';

const PAGE_SIZE = 50;
const ENDPOINT_LIST = { kind: 'webhookEndpoint', size: PAGE_SIZE } as const;
const DELIVERY_LIST = { kind: 'delivery', size: PAGE_SIZE } as const;

export const staffWebhookPages = [
  staff.page('/staff/webhooks', 'read', list),
  staff.page('/staff/webhooks/{webhook_id}', 'read', (visit, services) => showEndpoint(visit, services)),
  staff.form('/staff/webhooks/{webhook_id}/redeliver', 'operate', (visit, services) =>
    act(visit, services, (endpoint) => redeliverFailed(visit, services, endpoint)),
  ),
  staff.form('/staff/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver', 'operate', (visit, services) =>
    act(visit, services, ({ id: endpointId }) =>
      redeliverOne(services.database, { endpointId, deliveryId: visit.params['delivery_id'] ?? '' }, null),
    ),
  ),
];

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const account = await accountIn(query, services);
  const filter = {
    accountId: account.value ?? undefined,
    failing: query.get('show') === 'all' ? undefined : true,
  };
  const page = await readListPage(query, ENDPOINT_LIST, (slice) =>
    unlessOpen([account], () => listAllWebhookEndpoints(services.database, { ...filter, ...slice })),
  );
  return showPage('failingWebhooks', texts.staffWebhooks.title, <EndpointList page={page} account={account} />);
}

async function showEndpoint(
  visit: UserVisit,
  { database, temporal }: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const endpoint = await existingEndpoint(visit, database);
  const filter = {
    endpointId: endpoint.id,
    status: DELIVERY_STATUSES.find((known) => known === visit.query.get('status')),
  };
  const page = await readListPage(visit.query, DELIVERY_LIST, (slice) =>
    listDeliveries(database, { ...filter, ...slice }),
  );
  return showPage(
    'failingWebhooks',
    visit.texts.staffWebhooks.endpoint,
    <EndpointContent {...{ endpoint, page, temporal, visit }} />,
    problem,
  );
}

async function existingEndpoint({ params }: UserVisit, database: ApiServices['database']): Promise<WebhookEndpoint> {
  const endpoint = await findAnyWebhookEndpoint(database, params['webhook_id'] ?? '');
  if (!endpoint) throw new ServiceError('not_found', 'There is no such webhook endpoint.');
  return endpoint;
}

async function redeliverFailed(
  { texts: { staffWebhooks: words } }: UserVisit,
  { database }: ApiServices,
  { id, accountId, disabledAt }: WebhookEndpoint,
): Promise<void> {
  if (disabledAt) throw new FormError(words.isDisabled);
  const limit = WEBHOOKS.redeliveriesPerCall;
  const { count } = await requestRedeliveries(database, { accountId, endpointId: id, status: 'failed', limit });
  if (count === 0) throw new FormError(words.nothingFailed);
}

async function act(
  visit: UserVisit,
  services: ApiServices,
  work: (endpoint: WebhookEndpoint) => Promise<unknown>,
): Promise<PageResult> {
  const endpoint = await existingEndpoint(visit, services.database);
  return carryOut(
    () => work(endpoint),
    `/staff/webhooks/${endpoint.id}`,
    (problem) => {
      if (problem.code === 'not_found') throw problem;
      return showEndpoint(visit, services, problem);
    },
  );
}
