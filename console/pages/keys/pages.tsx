/** The API keys of an account, for its members and for operators. */
import { createApiKey } from '../../../api/services/create-key.ts';
import { existingAccount } from '../../../api/services/existing-account.ts';
import type { ApiServices } from '../../../api/api-services.ts';
import { lockRow } from '../../../db/lock-row.ts';
import { recallAllowances } from '../../../db/queries/allowances.ts';
import {
  type ApiKey,
  deleteApiKey,
  findApiKey,
  listApiKeys,
  updateApiKey,
  writeKeySettings,
} from '../../../db/queries/api-keys.ts';
import { FormError } from '../../form-problem.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import { ButtonLink, Card, Copyable, FormButton } from '../../html/components.tsx';
import {
  requireFound,
  formsOver,
  forMembersAndStaff,
  isStaffPage,
  type PageResult,
  showPage,
  type UserVisit,
} from '../../page.ts';
import { saveIfUnchanged } from '../../stored-fields.ts';
import { KeyForm, keyFields, readSettings } from './key-form.tsx';
import { KeyFacts, KeyTable } from './key-table.tsx';

/** The maximum number of keys per account in the console. A program that creates more has a bug. */
const MAX_KEYS = 200;

/** The permissions for all pages about keys. */
const MANAGE = ['develop', 'operate'] as const;

export const keyPages = forMembersAndStaff((place) => {
  const list = place.page('/keys', MANAGE, showKeys);
  const key = place.page('/keys/{key_id}', MANAGE, showKey);
  const change = formsOver(list, MANAGE, keyOf);
  return [
    list,
    list.form('', MANAGE, create, showSecret),
    key,
    key.form('', MANAGE, save),
    change(
      '/{key_id}/enable',
      (_visit, { database }, { id }) => updateApiKey(database, id, { disabled: false }),
      'enabled',
    ),
    change(
      '/{key_id}/disable',
      (_visit, { database }, { id }) => updateApiKey(database, id, { disabled: true }),
      'disabled',
    ),
    change('/{key_id}/delete', (_visit, { database }, { id }) => deleteApiKey(database, id), 'deleted'),
  ];
});

/** The path of the list of keys. */
function listOf({ path }: UserVisit): string {
  return path.replace(/\/keys\/.*$/, '/keys');
}

/** @returns the secret of the new key */
async function create(visit: UserVisit, { database, catalogue, keyPeppers }: ApiServices): Promise<string> {
  const { id: accountId } = await existingAccount(database, visit.params['account_id'] ?? '');
  const settings = readSettings(visit, catalogue, null);
  const { length } = await listApiKeys(database, { accountId, limit: MAX_KEYS });
  if (length >= MAX_KEYS) throw new FormError(visit.texts.keys.tooMany(MAX_KEYS));
  const { secret } = await createApiKey(database, keyPeppers, accountId, settings);
  return secret;
}

async function save(visit: UserVisit, { database, catalogue }: ApiServices): Promise<void> {
  const { accountId, id: apiKeyId } = await keyOf(visit, { database });
  await saveIfUnchanged(visit, database, {
    find: async (transaction) => {
      await lockRow(transaction, 'api_keys', { id: apiKeyId });
      return keyOf(visit, { database: transaction });
    },
    fieldsOf: keyFields,
    save: (transaction, stored) => writeKeySettings(transaction, apiKeyId, readSettings(visit, catalogue, stored)),
  });
  await recallAllowances(database, { accountId, apiKeyId });
}

/** @throws ServiceError `not_found`, also for a key of another account */
async function keyOf({ params }: UserVisit, { database }: Pick<ApiServices, 'database'>): Promise<ApiKey> {
  const key = await findApiKey(database, params['key_id'] ?? '');
  return requireFound(key?.accountId === params['account_id'] ? key : null);
}

async function showKeys(visit: UserVisit, { database, catalogue }: ApiServices): Promise<PageResult> {
  const { id: accountId } = await existingAccount(database, visit.params['account_id'] ?? '');
  const { keys: words, titles } = visit.texts;
  return showPage(
    titles.keys,
    isStaffPage(visit) ? null : <ApiReference />,
    <KeyTable
      keys={await listApiKeys(database, { accountId, limit: MAX_KEYS })}
      none={words.none}
      path={visit.path}
      mayChange
    />,
    <Card title={words.create}>
      <KeyForm action={visit.path} stored={null} catalogue={catalogue} />
    </Card>,
  );
}

async function showKey(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const stored = await keyOf(visit, services);
  const { keys: words, common, titles } = visit.texts;
  const name = stored.name || words.unnamed;
  return showPage(
    name,
    <Card>
      <KeyFacts apiKey={stored} />
      <div class="row actions">
        <a href={listOf(visit)}>{titles.keys}</a>
        <FormButton action={`${visit.path}/delete`} label={common.delete} look="danger" question={words.delete} />
      </div>
    </Card>,
    <Card title={words.edit}>
      <KeyForm action={visit.path} stored={stored} catalogue={services.catalogue} />
    </Card>,
  );
}

function showSecret(visit: UserVisit, secret: string): PageResult {
  const { keys: words, common } = visit.texts;
  return showPage(
    words.madeTitle,
    <Card>
      <p>{words.made}</p>
      <Copyable text={secret} label={words.madeTitle} />
      <p>
        <ButtonLink href={listOf(visit)} label={common.done} />
      </p>
    </Card>,
  );
}
