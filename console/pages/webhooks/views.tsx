/** The content of the pages about webhooks. */
import { ENDPOINT } from '../../../api/routes/webhooks/present.ts';
import type { Delivery } from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import type { ServiceError } from '../../../domain/errors.ts';
import { Card, ConfirmDeletion, Copyable, FormButton, Time } from '../../html/components.tsx';
import { EndpointState } from '../../html/endpoint-state.tsx';
import { Facts } from '../../html/facts.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import { type PageResult, type MemberVisit, showPage } from '../../page.ts';
import { Deliveries } from './deliveries.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { useTexts } from '../../html/page-context.ts';

export function endpointList(
  visit: MemberVisit,
  { endpoints, problem }: { readonly endpoints: readonly WebhookEndpoint[]; readonly problem: ServiceError | null },
): PageResult {
  const { webhooks: words, fields, titles } = visit.texts;
  const path = listPath(visit);
  return showPage(
    'webhooks',
    titles.webhooks,
    <>
      <ApiReference tag="Webhooks" />
      <TableCard
        of={ENDPOINT}
        label={titles.webhooks}
        rows={endpoints}
        none={words.none}
        pageOf={({ id }) => `${path}/${id}`}
        notes={{ url: 'description' }}
        columns={['url', 'events', [fields.status, (endpoint) => <EndpointState endpoint={endpoint} />], 'created_at']}
      />
      <Card title={words.create}>
        <EndpointForm endpoint={null} action={path} />
      </Card>
    </>,
    problem,
  );
}

interface ShownEndpoint {
  readonly endpoint: WebhookEndpoint;
  readonly deliveries: readonly Delivery[];
  readonly next: string | null;
  readonly problem: ServiceError | null;
}

export function endpointPage(visit: MemberVisit, { endpoint, deliveries, next, problem }: ShownEndpoint): PageResult {
  const { webhooks: words, fields } = visit.texts;
  const path = `${listPath(visit)}/${endpoint.id}`;
  return showPage(
    'webhooks',
    fields.webhook_id,
    <>
      <div class="grid">
        <Card title={endpoint.url}>
          <Details endpoint={endpoint} />
          <Actions endpoint={endpoint} path={path} />
        </Card>
        <Card title={words.edit}>
          <EndpointForm endpoint={endpoint} action={path} />
        </Card>
      </div>
      <Deliveries deliveries={deliveries} next={next} path={path} visit={visit} />
    </>,
    problem,
  );
}

/** Shows a secret. No other page shows it. */
export function secretPage(
  visit: MemberVisit,
  { updated, secret, hint }: { readonly updated: WebhookEndpoint; readonly secret: string; readonly hint?: string },
): PageResult {
  const { texts } = visit;
  const words = texts.webhooks;
  return showPage(
    'webhooks',
    words.secretTitle,
    <Card title={updated.url}>
      <p>{words.secret}</p>
      {hint === undefined ? null : <p>{hint}</p>}
      <Copyable text={secret} label={words.secretTitle} />
      <p>
        <a class="button" href={`${listPath(visit)}/${updated.id}`}>
          {texts.common.done}
        </a>
      </p>
    </Card>,
  );
}

export function confirmDeletion(visit: MemberVisit, { id, url }: WebhookEndpoint): PageResult {
  const { texts } = visit;
  const path = `${listPath(visit)}/${id}`;
  return showPage(
    'webhooks',
    texts.webhooks.deleteTitle,
    <Card title={url}>
      <p>{texts.webhooks.delete}</p>
      <ConfirmDeletion path={path} backTo={path} />
    </Card>,
  );
}

function listPath({ account: { accountId } }: MemberVisit): string {
  return `/console/accounts/${accountId}/webhooks`;
}

interface EndpointProps {
  readonly endpoint: WebhookEndpoint;
}

function Details({ endpoint }: EndpointProps) {
  const texts = useTexts();
  const { fields, common } = texts;
  const { id, failingSince, createdAt } = endpoint;
  return (
    <Facts
      facts={[
        [fields.status, <EndpointState endpoint={endpoint} />],
        failingSince && [texts.fields.failing_since, <Time at={failingSince} />],
        [fields.created_at, <Time at={createdAt} />],
        [common.endpointId, <code>{id}</code>],
      ]}
    />
  );
}

function Actions({ endpoint: { disabledAt }, path }: { readonly endpoint: WebhookEndpoint; readonly path: string }) {
  const texts = useTexts();
  const words = texts.webhooks;
  const actions: readonly (readonly [name: string, label: string])[] =
    disabledAt === null
      ? [
          ['test', words.test],
          ['rotate-secret', words.rotate],
          ['disable', texts.common.disable],
        ]
      : [
          ['enable', texts.common.enable],
          ['rotate-secret', words.rotate],
        ];
  return (
    <div class="row actions">
      {actions.map(([name, label]) => (
        <FormButton
          action={`${path}/${name}`}
          label={label}
          look={name === 'test' || name === 'enable' ? '' : 'quiet'}
          {...(name === 'rotate-secret' && { look: 'danger', question: words.rotateQuestion })}
        />
      ))}
      <a href={`${path}/delete`}>{texts.common.delete}</a>
    </div>
  );
}
