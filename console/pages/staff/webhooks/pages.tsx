/** Webhook endpoints of all accounts and their deliveries. By default, the list shows failing endpoints. */
import { ADMIN_ENDPOINT } from '../../../../services/resources/webhooks.ts';
import { redeliverMissed, redeliverOne } from '../../../../services/webhooks/redeliver.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { DELIVERY_STATUSES, listDeliveries } from '../../../../db/queries/deliveries.ts';
import {
  findAnyWebhookEndpoint,
  listAllWebhookEndpoints,
  type WebhookEndpoint,
} from '../../../../db/queries/webhook-endpoints.ts';
import { withAccountNames } from '../../../account-names.ts';
import { FormError } from '../../../form-problem.ts';
import { Card, Choice, Facts, Form, Pages, Time } from '../../../html/components.tsx';
import { EndpointState } from '../../../html/endpoint-state.tsx';
import { Candidates, ChoiceFilter, FieldFilter, Filters } from '../../../html/filters.tsx';
import { AnyId, ShortId } from '../../../html/linked-ids.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { readListPage } from '../../../list-page.ts';
import {
  formsOver,
  requireFound,
  hasPermission,
  type PageResult,
  showPage,
  staff,
  type UserVisit,
} from '../../../page.ts';
import { findFilteredAccount, readIfFiltered } from '../../../part-filter.ts';
import { wordFor } from '../../../texts/texts.ts';
import { showDelivery } from '../../webhooks/delivery.tsx';
import { Deliveries } from '../deliveries.tsx';

const page = staff.page('/staff/webhooks/{webhook_id}', 'read', showEndpoint);
const redeliver = formsOver(page, 'operate', existingEndpoint);

export const staffWebhookPages = [
  staff.page('/staff/webhooks', 'read', list),
  page,
  staff.page('/staff/webhooks/{webhook_id}/deliveries/{delivery_id}', 'read', async (visit, services) => {
    const endpoint = await existingEndpoint(visit, services);
    const path = `/console/staff/webhooks/${endpoint.id}`;
    return showDelivery(visit, services.database, { endpoint, path, mayRedeliver: hasPermission(visit, 'operate') });
  }),
  redeliver('/redeliver', redeliverAll, 'redelivering'),
  redeliver(
    '/deliveries/{delivery_id}/redeliver',
    ({ params }, { database }, { id: endpointId }) =>
      redeliverOne(database, { endpointId, deliveryId: params['delivery_id'] ?? '' }, null),
    'redelivering',
  ),
];

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const account = await findFilteredAccount(query, services);
  const filter = {
    accountId: account.value ?? undefined,
    failing: query.get('show') === 'all' ? undefined : true,
  };
  const { entries: endpoints, next } = await readListPage(query, 'webhookEndpoint', (slice) =>
    readIfFiltered([account], () => listAllWebhookEndpoints(services.database, { ...filter, ...slice })),
  );
  const { staffWebhooks: messages, common, fields, titles } = texts;
  return withAccountNames(
    services.database,
    endpoints.map(({ accountId }) => accountId),
    showPage(
      titles.failingWebhooks,
      <Filters>
        <FieldFilter name="account" label={common.partOfAccount} />
        <Choice
          name="show"
          label={common.show}
          value={query.get('show')}
          options={[
            ['', messages.onlyFailing],
            ['all', messages.all],
          ]}
        />
      </Filters>,
      <Candidates filters={[account]} />,
      <TableCard
        of={ADMIN_ENDPOINT}
        rows={endpoints}
        none={messages.none}
        pageOf={({ id }) => `/console/staff/webhooks/${id}`}
        columns={[
          'url',
          'account_id',
          [fields.status, (endpoint) => <EndpointState endpoint={endpoint} />],
          'failing_since',
        ]}
      />,
      <Pages next={next} />,
    ),
  );
}

async function showEndpoint(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database } = services;
  const { temporal } = services.operations;
  const endpoint = await existingEndpoint(visit, services);
  const filter = {
    endpointId: endpoint.id,
    status: DELIVERY_STATUSES.find((known) => known === visit.query.get('status')),
  };
  const { entries: deliveries, next } = await readListPage(visit.query, 'delivery', (slice) =>
    listDeliveries(database, { ...filter, ...slice }),
  );
  const { staffWebhooks: messages, fields, common, webhooks } = visit.texts;
  const path = `/console/staff/webhooks/${endpoint.id}`;
  const mayAct = hasPermission(visit, 'operate');
  return withAccountNames(
    database,
    [endpoint.accountId],
    showPage(
      messages.endpoint,
      <Card title={common.details}>
        <Facts
          facts={[
            [fields.url, endpoint.url],
            [fields.account_id, <AnyId id={endpoint.accountId} />],
            [
              fields.status,
              <>
                <EndpointState endpoint={endpoint} />{' '}
                {endpoint.failingSince === null ? null : <Time at={endpoint.failingSince} />}
              </>,
            ],
            [fields.events, endpoint.events.map((event) => wordFor('events', event, visit.texts)).join(', ')],
            [common.endpointId, <ShortId id={endpoint.id} href={null} />],
          ]}
        />
        {mayAct ? (
          <Form action={`${path}/redeliver`} class="after" submit={messages.redeliverMissed} look="quiet" />
        ) : null}
      </Card>,
      <Filters>
        <ChoiceFilter name="status" all={common.allStatuses} values={DELIVERY_STATUSES} />
      </Filters>,
      <Deliveries
        {...{ deliveries, temporal }}
        none={webhooks.noneMatch}
        redeliverPath={mayAct ? path : null}
        isOfEndpoint
      />,
      <Pages next={next} />,
    ),
  );
}

async function existingEndpoint({ params }: UserVisit, { database }: ApiServices): Promise<WebhookEndpoint> {
  return requireFound(await findAnyWebhookEndpoint(database, params['webhook_id'] ?? ''));
}

async function redeliverAll(
  { texts: { staffWebhooks: messages } }: UserVisit,
  { database }: ApiServices,
  endpoint: WebhookEndpoint,
): Promise<void> {
  if (endpoint.disabledAt) throw new FormError(messages.isDisabled);
  const { count } = await redeliverMissed(database, endpoint);
  if (count === 0) throw new FormError(messages.nothingMissed);
}
