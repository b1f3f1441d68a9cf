/** Webhook endpoints, and what was sent to one of them. */
import type { HistoryLinks } from '../../../../api/history-link.ts';
import type { Delivery } from '../../../../db/queries/deliveries.ts';
import { DELIVERY_STATUSES } from '../../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../../db/queries/webhook-endpoints.ts';
import {
  Badge,
  Card,
  Choice,
  Copyable,
  Empty,
  Field,
  Form,
  Pages,
  Problem,
  Table,
  Time,
} from '../../../html/components.tsx';
import type { ListPage } from '../../../list-page.ts';
import { AnyId } from '../../../html/linked-ids.tsx';
import { OPERATORS, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import { may } from '../may.ts';
import { Deliveries } from '../deliveries.tsx';

export function EndpointList({
  page: { entries: endpoints, next },
  query,
  path,
  texts,
}: {
  readonly page: ListPage<WebhookEndpoint>;
  readonly query: URLSearchParams;
  readonly path: string;
  readonly texts: Texts;
}) {
  const { staffWebhooks: words, staff, common } = texts;
  return (
    <>
      <form method="get" class="filters" role="search">
        <Field name="account" label={staff.accountId} value={query.get('account') ?? ''} />
        <Choice
          name="show"
          label={words.show}
          value={query.get('show') ?? ''}
          options={[
            ['', words.onlyFailing],
            ['all', words.all],
          ]}
        />
        <button type="submit">{common.filter}</button>
      </form>
      {endpoints.length === 0 ? (
        <Empty>{words.none}</Empty>
      ) : (
        <Card>
          <Table label={words.title} columns={[words.address, staff.account, common.status, words.failingSince]}>
            {endpoints.map((endpoint) => (
              <tr>
                <th scope="row">
                  <a href={`/console/staff/webhooks/${endpoint.id}`}>{endpoint.url}</a>
                </th>
                <td>
                  <AnyId id={endpoint.accountId} />
                </td>
                <td>
                  <EndpointState endpoint={endpoint} texts={texts} />
                </td>
                <td>{endpoint.failingSince === null ? null : <Time at={endpoint.failingSince} />}</td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
      <Pages path={path} query={query} next={next} texts={texts} />
    </>
  );
}

function EndpointState({
  endpoint: { disabledAt, disabledReason, failingSince },
  texts: { staffWebhooks: words },
}: {
  readonly endpoint: WebhookEndpoint;
  readonly texts: Texts;
}) {
  if (disabledAt !== null) {
    return (
      <>
        <Badge tone="calm">{words.disabled}</Badge>
        <div class="soft">{disabledReason}</div>
      </>
    );
  }
  return failingSince === null ? <Badge tone="good">{words.works}</Badge> : <Badge tone="bad">{words.fails}</Badge>;
}

export function EndpointContent({
  endpoint,
  page: { entries: deliveries, next },
  temporal,
  visit,
  problem,
}: {
  readonly endpoint: WebhookEndpoint;
  readonly page: ListPage<Delivery>;
  readonly temporal: HistoryLinks;
  readonly visit: UserVisit;
  readonly problem: string | null;
}) {
  const { texts, session, query } = visit;
  const { staffWebhooks: words, staff, common } = texts;
  const path = `/console/staff/webhooks/${endpoint.id}`;
  const mayAct = may(visit, OPERATORS);
  return (
    <>
      <Problem message={problem} />
      <Card title={words.details}>
        <dl>
          <dt>{words.address}</dt>
          <dd>{endpoint.url}</dd>
          <dt>{staff.account}</dt>
          <dd>
            <AnyId id={endpoint.accountId} />
          </dd>
          <dt>{common.status}</dt>
          <dd>
            <EndpointState endpoint={endpoint} texts={texts} />{' '}
            {endpoint.failingSince === null ? null : <Time at={endpoint.failingSince} />}
          </dd>
          <dt>{words.events}</dt>
          <dd>{endpoint.events.join(', ')}</dd>
          <dt>{words.id}</dt>
          <dd>
            <Copyable text={endpoint.id} texts={texts} label={words.id} />
          </dd>
        </dl>
        {mayAct ? (
          <Form token={session.formToken} action={`${path}/redeliver`} class="after">
            <button type="submit" class="quiet">
              {words.redeliverFailed}
            </button>
          </Form>
        ) : null}
      </Card>
      <form method="get" class="filters" role="search">
        <Choice
          name="status"
          label={common.status}
          value={query.get('status') ?? ''}
          options={[
            ['', texts.tasks.allStatuses],
            ...DELIVERY_STATUSES.map((known) => [known, texts.staffTasks.deliveryStatus[known]] as const),
          ]}
        />
        <button type="submit">{common.filter}</button>
      </form>
      <Card title={texts.staffTasks.deliveries}>
        {deliveries.length === 0 ? (
          <Empty>{words.noDeliveries}</Empty>
        ) : (
          <Deliveries
            {...{ deliveries, temporal, texts }}
            redeliver={mayAct ? { path, token: session.formToken } : null}
          />
        )}
      </Card>
      <Pages path={path} query={query} next={next} texts={texts} />
    </>
  );
}
