/** A table of webhook endpoints, and one endpoint with its deliveries. */
import { ADMIN_ENDPOINT } from '../../../../api/routes/webhooks/present.ts';
import type { HistoryLinks } from '../../../../api/history-link.ts';
import type { Delivery } from '../../../../db/queries/deliveries.ts';
import { DELIVERY_STATUSES } from '../../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../../db/queries/webhook-endpoints.ts';
import { Card, Choice, Copyable, Form, Pages, Time } from '../../../html/components.tsx';
import { EndpointState } from '../../../html/endpoint-state.tsx';
import { Facts } from '../../../html/facts.tsx';
import { Candidates, ChoiceFilter, FieldFilter, Filters } from '../../../html/filters.tsx';
import type { ListPage } from '../../../list-page.ts';
import type { PartFilter } from '../../../part-filter.ts';
import { AnyId } from '../../../html/linked-ids.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { Deliveries } from '../deliveries.tsx';
import { usePage } from '../../../html/page-context.ts';

export function EndpointList({
  page: { entries: endpoints, next },
  account,
}: {
  readonly page: ListPage<WebhookEndpoint>;
  readonly account: PartFilter;
}) {
  const { texts, query } = usePage();
  const { staffWebhooks: words, common, fields } = texts;
  return (
    <>
      <Filters>
        <FieldFilter name="account" label={common.partOfAccount} />
        <Choice
          name="show"
          label={words.show}
          value={query.get('show') ?? ''}
          options={[
            ['', words.onlyFailing],
            ['all', words.all],
          ]}
        />
      </Filters>
      <Candidates filters={[account]} />
      <TableCard
        of={ADMIN_ENDPOINT}
        label={words.title}
        rows={endpoints}
        none={words.none}
        pageOf={({ id }) => `/console/staff/webhooks/${id}`}
        columns={[
          'url',
          'account_id',
          [fields.status, (endpoint) => <EndpointState endpoint={endpoint} />],
          'failing_since',
        ]}
      />
      <Pages next={next} />
    </>
  );
}

export function EndpointContent({
  endpoint,
  page: { entries: deliveries, next },
  temporal,
  visit,
}: {
  readonly endpoint: WebhookEndpoint;
  readonly page: ListPage<Delivery>;
  readonly temporal: HistoryLinks;
  readonly visit: UserVisit;
}) {
  const { texts } = visit;
  const { staffWebhooks: words, staff, fields } = texts;
  const path = `/console/staff/webhooks/${endpoint.id}`;
  const mayAct = may(visit, 'operate');
  return (
    <>
      <Card title={words.details}>
        <Facts
          facts={[
            [fields.url, endpoint.url],
            [staff.account, <AnyId id={endpoint.accountId} />],
            [
              fields.status,
              <>
                <EndpointState endpoint={endpoint} />{' '}
                {endpoint.failingSince === null ? null : <Time at={endpoint.failingSince} />}
              </>,
            ],
            [fields.events, endpoint.events.join(', ')],
            [words.id, <Copyable text={endpoint.id} label={words.id} />],
          ]}
        />
        {mayAct ? (
          <Form action={`${path}/redeliver`} class="after">
            <button type="submit" class="quiet">
              {words.redeliverFailed}
            </button>
          </Form>
        ) : null}
      </Card>
      <Filters>
        <ChoiceFilter name="status" all={texts.tasks.allStatuses} values={DELIVERY_STATUSES} />
      </Filters>
      <Deliveries {...{ deliveries, temporal }} none={words.noDeliveries} redeliverPath={mayAct ? path : null} />
      <Pages path={path} next={next} />
    </>
  );
}
