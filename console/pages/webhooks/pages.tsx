/** The webhook endpoints of an account and their deliveries. */
import { ENDPOINT } from '../../../services/resources/webhooks.ts';
import { registerEndpoint } from '../../../services/webhooks/register-endpoint.ts';
import { createEndpointSchema, updateEndpointSchema } from '../../../services/input/webhooks.ts';
import { redeliverOne } from '../../../services/webhooks/redeliver.ts';
import type { ApiServices } from '../../../api/services.ts';
import { countRedelivery, rotateSecret, sendTestEvent } from '../../../services/webhooks/webhooks.ts';
import { createValidator } from '../../../services/input/validation.ts';
import { lockRow } from '../../../db/lock-row.ts';
import { DELIVERY_STATUSES, listDeliveries } from '../../../db/queries/deliveries.ts';
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  listWebhookEndpoints,
  updateWebhookEndpoint,
  type WebhookEndpoint,
} from '../../../db/queries/webhook-endpoints.ts';
import { isId } from '../../../domain/ids.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { SUBSCRIBABLE_EVENTS, TASK_EVENTS } from '../../../domain/webhook-event.ts';
import type { Form as SentForm } from '../../form.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import {
  ButtonLink,
  Card,
  Check,
  ConfirmDeletion,
  Copyable,
  Facts,
  Field,
  Form,
  FormButton,
  Time,
} from '../../html/components.tsx';
import { EndpointState } from '../../html/endpoint-state.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';
import { readListPage } from '../../list-page.ts';
import { formsOver, requireFound, member, type MemberVisit, type PageResult, showPage } from '../../page.ts';
import { saveIfUnchanged, type StoredFields } from '../../stored-fields.ts';
import { Deliveries } from './deliveries.tsx';
import { showDelivery } from './delivery.tsx';

const validateNew = createValidator(createEndpointSchema);
const validateChanges = createValidator(updateEndpointSchema);

const PATH = '/accounts/{account_id}/webhooks';
const DELIVERIES_SHOWN = 20;

const listPage = member.page(PATH, 'develop', list);
const page = member.page(`${PATH}/{webhook_id}`, 'develop', show);
const change = formsOver(page, 'develop', ownEndpoint);

export const webhookPages = [
  listPage,
  listPage.form('', 'develop', create, secretPage),
  page,
  page.form('', 'develop', save),
  change(
    '/enable',
    ({ account }, { database }, { id }) => updateWebhookEndpoint(database, account.accountId, id, { enabled: true }),
    'enabled',
  ),
  change(
    '/disable',
    ({ account }, { database }, { id }) => updateWebhookEndpoint(database, account.accountId, id, { enabled: false }),
    'disabled',
  ),
  member.page(`${PATH}/{webhook_id}/deliveries/{delivery_id}`, 'develop', async (visit, services) => {
    const endpoint = await ownEndpoint(visit, services);
    const path = pathOf(visit, endpoint.id);
    return showDelivery(visit, services.database, { endpoint, path, mayRedeliver: true });
  }),
  change('/test', (_visit, { database }, endpoint) => sendTestEvent(database, endpoint), 'testSent'),
  change(
    '/deliveries/{delivery_id}/redeliver',
    async ({ account, params }, { database }, { id: endpointId }) => {
      const { accountId } = account;
      await countRedelivery(database, accountId);
      await redeliverOne(database, { accountId, endpointId, deliveryId: params['delivery_id'] ?? '' }, null);
    },
    'redelivering',
  ),
  member.form(`${PATH}/{webhook_id}/rotate-secret`, 'develop', async (visit, services) => {
    const { account, params, texts } = visit;
    const of = { accountId: account.accountId, endpointId: params['webhook_id'] ?? '' };
    const rotated = requireFound(isId('webhookEndpoint', of.endpointId) ? await rotateSecret(services, of) : null);
    return secretPage(visit, { ...rotated, hint: texts.webhooks.rotated });
  }),
  member.page(`${PATH}/{webhook_id}/delete`, 'develop', async (visit, services) => {
    const { id, url } = await ownEndpoint(visit, services);
    const { webhooks: messages } = visit.texts;
    const path = pathOf(visit, id);
    return showPage(
      messages.deleteTitle,
      <Card title={url}>
        <p>{messages.delete}</p>
        <ConfirmDeletion path={path} backTo={path} />
      </Card>,
    );
  }),
  formsOver(listPage, 'develop', ownEndpoint)(
    '/{webhook_id}/delete',
    ({ account }, { database }, { id }) => deleteWebhookEndpoint(database, account.accountId, id),
    'deleted',
  ),
];

async function create({ form, account }: MemberVisit, { database, encryption, checkPublicUrl }: ApiServices) {
  const body = validateNew(entriesOf(form));
  await checkPublicUrl(body.url);
  const { created, secret } = await database.transaction((transaction) =>
    registerEndpoint(transaction, encryption, account.accountId, body),
  );
  return { updated: created, secret };
}

async function save(visit: MemberVisit, { database, checkPublicUrl }: ApiServices): Promise<void> {
  const { id } = await ownEndpoint(visit, { database });
  const changes = validateChanges(entriesOf(visit.form));
  if (changes.url !== undefined) await checkPublicUrl(changes.url);
  await saveIfUnchanged(visit, database, {
    find: async (transaction) => {
      await lockRow(transaction, 'webhook_endpoints', { id });
      return ownEndpoint(visit, { database: transaction });
    },
    fieldsOf: endpointFields,
    save: (transaction) => updateWebhookEndpoint(transaction, visit.account.accountId, id, changes),
  });
}

async function list({ account, texts, path }: MemberVisit, { database }: ApiServices): Promise<PageResult> {
  const { webhooks: messages, fields, titles } = texts;
  const { accountId } = account;
  return showPage(
    titles.webhooks,
    <ApiReference tag="Webhooks" />,
    <TableCard
      of={ENDPOINT}
      rows={await listWebhookEndpoints(database, { accountId, limit: WEBHOOKS.maxEndpoints })}
      none={messages.none}
      pageOf={({ id }) => `${path}/${id}`}
      notes={{ url: 'description' }}
      columns={['url', 'events', [fields.status, (endpoint) => <EndpointState endpoint={endpoint} />], 'created_at']}
    />,
    <Card title={messages.create}>
      <EndpointForm endpoint={null} action={path} />
    </Card>,
  );
}

async function show(visit: MemberVisit, services: ApiServices): Promise<PageResult> {
  const { query, path, texts } = visit;
  const endpoint = await ownEndpoint(visit, services);
  const filter = {
    accountId: endpoint.accountId,
    endpointId: endpoint.id,
    status: DELIVERY_STATUSES.find((status) => status === query.get('status')),
  };
  const { entries: deliveries, next } = await readListPage(
    query,
    'delivery',
    (slice) => listDeliveries(services.database, { ...filter, ...slice }),
    DELIVERIES_SHOWN,
  );
  const { webhooks: messages, fields, common } = texts;
  return showPage(
    fields.webhook_id,
    <div class="grid">
      <Card title={endpoint.url}>
        <Facts
          facts={[
            [fields.status, <EndpointState endpoint={endpoint} />],
            endpoint.failingSince && [fields.failing_since, <Time at={endpoint.failingSince} />],
            [fields.created_at, <Time at={endpoint.createdAt} />],
            [common.endpointId, <code>{endpoint.id}</code>],
          ]}
        />
        <Actions endpoint={endpoint} path={path} />
      </Card>
      <Card title={messages.edit}>
        <EndpointForm endpoint={endpoint} action={path} />
      </Card>
    </div>,
    <Deliveries deliveries={deliveries} next={next} path={path} visit={visit} />,
  );
}

/** @throws ServiceError `not_found`, also for another account's endpoint */
async function ownEndpoint(
  { account, params }: MemberVisit,
  { database }: Pick<ApiServices, 'database'>,
): Promise<WebhookEndpoint> {
  return requireFound(await findWebhookEndpoint(database, account.accountId, params['webhook_id'] ?? ''));
}

function pathOf({ account: { accountId } }: MemberVisit, id: string): string {
  return `/console/accounts/${accountId}/webhooks/${id}`;
}

/** Shows a secret, which no other page shows. */
function secretPage(
  visit: MemberVisit,
  { updated, secret, hint }: { readonly updated: WebhookEndpoint; readonly secret: string; readonly hint?: string },
): PageResult {
  const { texts } = visit;
  const messages = texts.webhooks;
  return showPage(
    messages.secretTitle,
    <Card title={updated.url}>
      <p>{messages.secret}</p>
      {hint === undefined ? null : <p>{hint}</p>}
      <Copyable text={secret} label={messages.secretTitle} />
      <p>
        <ButtonLink href={pathOf(visit, updated.id)} label={texts.common.done} />
      </p>
    </Card>,
  );
}

function Actions({ endpoint: { disabledAt }, path }: { endpoint: WebhookEndpoint; path: string }) {
  const texts = useTexts();
  const messages = texts.webhooks;
  const actions: readonly (readonly [name: string, label: string])[] =
    disabledAt === null
      ? [
          ['test', messages.test],
          ['rotate-secret', messages.rotate],
          ['disable', texts.common.disable],
        ]
      : [
          ['enable', texts.common.enable],
          ['rotate-secret', messages.rotate],
        ];
  return (
    <div class="row actions">
      {actions.map(([name, label]) => (
        <FormButton
          action={`${path}/${name}`}
          label={label}
          look={name === 'test' || name === 'enable' ? '' : 'quiet'}
          {...(name === 'rotate-secret' && { look: 'danger', question: messages.rotateQuestion })}
        />
      ))}
      <a href={`${path}/delete`}>{texts.common.delete}</a>
    </div>
  );
}

function endpointFields({ url, description, events }: WebhookEndpoint): StoredFields {
  return { url, description, events: events.toSorted().join('\n') };
}

function entriesOf(form: SentForm) {
  return { url: form.text('url'), description: form.optional('description'), events: form.all('events') };
}

/** @param endpoint the endpoint to change; null for a new endpoint */
function EndpointForm({ endpoint, action }: { endpoint: WebhookEndpoint | null; action: string }) {
  const { webhooks: messages, common, fields, values } = useTexts();
  const events: readonly string[] = endpoint?.events ?? TASK_EVENTS;
  return (
    <Form
      action={action}
      submit={endpoint === null ? common.create : common.save}
      stored={endpoint && endpointFields(endpoint)}
    >
      <Field name="url" hint={messages.addressHint} type="url" required />
      <Field name="description" hint={common.optional} />
      <fieldset>
        <legend>{fields.events}</legend>
        {SUBSCRIBABLE_EVENTS.map((event) => (
          <Check name="events" value={event} label={values.events[event]} isChecked={events.includes(event)} />
        ))}
      </fieldset>
    </Form>
  );
}
