/** The API keys of an account. */
import { API_KEY } from '../../../api/routes/admin/present.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { createApiKey } from '../../../api/services/create-key.ts';
import {
  type ApiKey,
  deleteApiKey,
  findApiKey,
  type KeySettings,
  listApiKeys,
  updateApiKey,
} from '../../../db/queries/api-keys.ts';
import { ServiceError } from '../../../domain/errors.ts';
import {
  Card,
  ConfirmDeletion,
  Copyable,
  Field,
  Form,
  FormButton,
  Money,
  Noted,
  Problem,
  usd,
} from '../../html/components.tsx';
import { Chosen, TableCard } from '../../html/resource-table.tsx';
import { type PageResult, member, type MemberVisit, showPage } from '../../page.ts';
import { readSettings } from './key-form.ts';
import { useTexts } from '../../html/page-context.ts';

/** The most keys of an account. A program that creates more has a bug. */
const MAX_KEYS = 200;

export const keyPages = [
  member.page('/accounts/{account_id}/keys', 'develop', (visit, services) => keys(visit, services, null)),
  member.form('/accounts/{account_id}/keys', 'develop', async (visit, services) => {
    const settings = readSettings(visit.form, services.catalogue);
    if (settings instanceof ServiceError) return keys(visit, services, settings.message);
    if ((await listKeys(visit, services)).length >= MAX_KEYS)
      return keys(visit, services, visit.texts.keys.tooMany(MAX_KEYS));
    const { secret } = await createApiKey(services.database, services.keyPeppers, visit.account.accountId, settings);
    return made(visit, secret);
  }),
  change('enable', { disabled: false }),
  change('disable', { disabled: true }),
  member.page('/accounts/{account_id}/keys/{key_id}/delete', 'develop', async (visit, services) =>
    confirmDeletion(visit, await ownKey(visit, services)),
  ),
  member.form('/accounts/{account_id}/keys/{key_id}/delete', 'develop', async (visit, services) => {
    const { id } = await ownKey(visit, services);
    await deleteApiKey(services.database, id);
    return { kind: 'redirect', path: pathOf(visit) };
  }),
];

function change(name: string, settings: KeySettings) {
  return member.form(`/accounts/{account_id}/keys/{key_id}/${name}`, 'develop', async (visit, services) => {
    const { id } = await ownKey(visit, services);
    await updateApiKey(services.database, id, settings);
    return { kind: 'redirect', path: pathOf(visit) };
  });
}

function pathOf({ account: { accountId } }: MemberVisit): string {
  return `/accounts/${accountId}/keys`;
}

async function listKeys({ account: { accountId } }: MemberVisit, { database }: ApiServices) {
  return listApiKeys(database, { accountId, limit: MAX_KEYS });
}

async function ownKey({ account, params }: MemberVisit, { database }: ApiServices): Promise<ApiKey> {
  const key = await findApiKey(database, params['key_id'] ?? '');
  if (key?.accountId !== account.accountId) throw new ServiceError('not_found', 'There is no such key.');
  return key;
}

async function keys(visit: MemberVisit, services: ApiServices, problem: string | null): Promise<PageResult> {
  const { texts } = visit;
  const found = await listKeys(visit, services);
  const { keys: words, common, fields } = texts;
  return showPage(
    'keys',
    words.title,
    <>
      <KeyTable keys={found} none={words.none} path={`/console${pathOf(visit)}`} mayChange mayDelete />
      <Card title={words.create}>
        <Problem message={problem} />
        <Form action={`/console${pathOf(visit)}`} class="grid">
          <Field name="name" label={fields.name} />
          <Field name="usage_limit_usd" label={words.limit} hint={words.limitHint} inputMode="decimal" />
          <Field name="rate_limit_rpm" label={words.rate} hint={common.optional} inputMode="numeric" />
          <Field name="expires_on" label={words.expires} hint={common.optional} type="date" />
          <Field name="models" label={words.models} hint={words.modelsHint} lines={3} />
          <Field name="ip_allowlist" label={words.addresses} hint={words.addressesHint} lines={3} />
          <div>
            <button type="submit">{common.create}</button>
          </div>
        </Form>
      </Card>
    </>,
    null,
    problem === null ? 200 : 400,
  );
}

/** The keys of an account. */
export function KeyTable({
  keys: rows,
  path,
  mayChange,
  mayDelete,
  ...table
}: {
  readonly keys: readonly ApiKey[];
  /** The path of the pages about the keys. */
  readonly path: string;
  readonly mayChange: boolean;
  readonly mayDelete: boolean;
  readonly title?: string;
  readonly none: string;
}) {
  const { keys: words, staffAccounts, fields, common } = useTexts();
  return (
    <TableCard
      {...table}
      label={words.title}
      of={API_KEY}
      rows={rows}
      columns={[
        [fields.name, ({ name, hint }) => <Noted note={<code>{hint}</code>}>{name || words.unnamed}</Noted>],
        [
          words.used,
          ({ used, usageLimit }) => (
            <>
              <Money amount={used} /> {usageLimit === null ? '' : words.ofLimit(usd(usageLimit))}
            </>
          ),
          'number',
        ],
        [fields.status, (key) => <Chosen name="state" value={stateOf(key)} />],
        'created_at',
        [
          staffAccounts.change,
          ({ id, disabledAt }) => {
            const action = disabledAt ? 'enable' : 'disable';
            return (
              <div class="row">
                {mayChange ? <FormButton action={`${path}/${id}/${action}`} label={words[action]} /> : null}
                {mayDelete ? <a href={`${path}/${id}/delete`}>{common.delete}</a> : null}
              </div>
            );
          },
        ],
      ]}
    />
  );
}

function stateOf({ disabledAt, expiresAt }: ApiKey): string {
  if (disabledAt !== null) return 'disabled';
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? 'expired' : 'active';
}

function made(visit: MemberVisit, secret: string): PageResult {
  const { texts } = visit;
  return showPage(
    'keys',
    texts.keys.madeTitle,
    <Card>
      <p>{texts.keys.made}</p>
      <Copyable text={secret} label={texts.keys.madeTitle} />
      <p>
        <a class="button" href={`/console${pathOf(visit)}`}>
          {texts.keys.done}
        </a>
      </p>
    </Card>,
  );
}

function confirmDeletion(visit: MemberVisit, key: ApiKey): PageResult {
  const { texts } = visit;
  const list = `/console${pathOf(visit)}`;
  return showPage(
    'keys',
    texts.keys.deleteTitle(key.name || texts.keys.unnamed),
    <Card>
      <p>{texts.keys.delete}</p>
      <ConfirmDeletion path={`${list}/${key.id}`} backTo={list} />
    </Card>,
  );
}
