/** The API keys of an account, for its members and for operators. */
import { createApiKey } from '../../../api/services/create-key.ts';
import { existingAccount } from '../../../api/services/existing-account.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import {
  type ApiKey,
  deleteApiKey,
  findApiKey,
  type KeySettings,
  listApiKeys,
  updateApiKey,
} from '../../../db/queries/api-keys.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { carryOut, FormError } from '../../form-problem.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import { Card, Copyable, FormButton } from '../../html/components.tsx';
import { type Page, type PageResult, member, showPage, staff, type UserVisit } from '../../page.ts';
import { KeyForm, readSettings } from './key-form.tsx';
import { KeyFacts, KeyTable } from './key-table.tsx';

/** The most keys of an account. A program that creates more has a bug. */
const MAX_KEYS = 200;

/** The pages about the keys of an account, in one part of the console. */
interface Place {
  readonly path: string;
  /** The entry of the navigation. */
  readonly current: string;
  readonly page: (path: string, handle: Handle) => Page;
  readonly form: (path: string, handle: Handle) => Page;
}

type Handle = (visit: UserVisit, services: ApiServices) => Promise<PageResult>;

export const keyPages = [
  ...pagesAt({
    path: '/accounts/{account_id}/keys',
    current: 'keys',
    page: (path, handle) => member.page(path, 'develop', handle),
    form: (path, handle) => member.form(path, 'develop', handle),
  }),
  ...pagesAt({
    path: '/staff/accounts/{account_id}/keys',
    current: 'accounts',
    page: (path, handle) => staff.page(path, 'operate', handle),
    form: (path, handle) => staff.form(path, 'operate', handle),
  }),
];

function pagesAt(place: Place): readonly Page[] {
  const { path, page, form } = place;
  const key = `${path}/{key_id}`;
  return [
    page(path, (visit, services) => showKeys(visit, services, place)),
    form(path, (visit, services) => create(visit, services, place)),
    page(key, (visit, services) => showKey(visit, services, place)),
    form(key, async (visit, services) => {
      const stored = await keyOf(visit, services);
      return carryOut(
        () => updateApiKey(services.database, stored.id, readSettings(visit, services.catalogue, stored)),
        filled(key, visit),
        (problem) => showKey(visit, services, place, problem),
      );
    }),
    form(`${key}/enable`, (visit, services) => change(visit, services, place, { disabled: false })),
    form(`${key}/disable`, (visit, services) => change(visit, services, place, { disabled: true })),
    form(`${key}/delete`, async (visit, services) => {
      const { id } = await keyOf(visit, services);
      await deleteApiKey(services.database, id);
      return { kind: 'redirect', path: filled(path, visit) };
    }),
  ];
}

function filled(path: string, { params }: UserVisit): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
}

async function change(
  visit: UserVisit,
  services: ApiServices,
  { path }: Place,
  settings: KeySettings,
): Promise<PageResult> {
  const { id } = await keyOf(visit, services);
  await updateApiKey(services.database, id, settings);
  return { kind: 'redirect', path: filled(path, visit) };
}

async function create(visit: UserVisit, services: ApiServices, place: Place): Promise<PageResult> {
  const { database, catalogue, keyPeppers } = services;
  const { id: accountId } = await existingAccount(database, visit.params['account_id'] ?? '');
  try {
    const settings = readSettings(visit, catalogue, null);
    const { length } = await listApiKeys(database, { accountId, limit: MAX_KEYS });
    if (length >= MAX_KEYS) throw new FormError(visit.texts.keys.tooMany(MAX_KEYS));
    const { secret } = await createApiKey(database, keyPeppers, accountId, settings);
    return showSecret(visit, place, secret);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error;
    return showKeys(visit, services, place, error);
  }
}

/** @throws ServiceError `not_found` for a key of another account, too */
async function keyOf({ params }: UserVisit, { database }: ApiServices): Promise<ApiKey> {
  const key = await findApiKey(database, params['key_id'] ?? '');
  if (!key || key.accountId !== params['account_id']) throw new ServiceError('not_found', 'There is no such key.');
  return key;
}

async function showKeys(
  visit: UserVisit,
  { database, catalogue }: ApiServices,
  { path, current }: Place,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const { id: accountId } = await existingAccount(database, visit.params['account_id'] ?? '');
  const { keys: words, titles } = visit.texts;
  const address = `/console${filled(path, visit)}`;
  return showPage(
    current,
    titles.keys,
    <>
      {current === 'keys' ? <ApiReference /> : null}
      <KeyTable
        keys={await listApiKeys(database, { accountId, limit: MAX_KEYS })}
        none={words.none}
        path={address}
        mayChange
      />
      <Card title={words.create}>
        <KeyForm action={address} stored={null} catalogue={catalogue} />
      </Card>
    </>,
    problem,
  );
}

async function showKey(
  visit: UserVisit,
  services: ApiServices,
  { path, current }: Place,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const stored = await keyOf(visit, services);
  const { keys: words, common, titles } = visit.texts;
  const list = `/console${filled(path, visit)}`;
  const address = `${list}/${stored.id}`;
  const name = stored.name || words.unnamed;
  return showPage(
    current,
    name,
    <>
      <Card>
        <KeyFacts apiKey={stored} />
        <div class="row actions">
          <a href={list}>{titles.keys}</a>
          <FormButton action={`${address}/delete`} label={common.delete} look="danger" question={words.delete} />
        </div>
      </Card>
      <Card title={words.edit}>
        <KeyForm action={address} stored={stored} catalogue={services.catalogue} />
      </Card>
    </>,
    problem,
  );
}

function showSecret(visit: UserVisit, { path, current }: Place, secret: string): PageResult {
  const { keys: words, common } = visit.texts;
  return showPage(
    current,
    words.madeTitle,
    <Card>
      <p>{words.made}</p>
      <Copyable text={secret} label={words.madeTitle} />
      <p>
        <a class="button" href={`/console${filled(path, visit)}`}>
          {common.done}
        </a>
      </p>
    </Card>,
  );
}
