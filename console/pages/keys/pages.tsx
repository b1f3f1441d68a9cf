/** The API keys of an account, for its members and for operators. */
import { createApiKey, rotateApiKey } from '../../../services/people/create-key.ts';
import { rotateKeySchema, ROTATION_HOURS } from '../../../services/input/admin.ts';
import { createValidator } from '../../../services/input/validation.ts';
import { existingAccount, existingOpenAccount } from '../../../services/people/existing-account.ts';
import type { ApiServices } from '../../../api/services.ts';
import type { Database } from '../../../db/database.ts';
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
import { listRefusedCalls } from '../../../db/queries/refused-calls.ts';
import { FormError } from '../../form-problem.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import { ButtonLink, Card, Choice, Copyable, Form, FormButton } from '../../html/components.tsx';
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
import { RefusedCalls } from './refused-calls.tsx';
import { KeyFacts, KeyTable } from './key-table.tsx';

const validateRotation = createValidator(rotateKeySchema);

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
    key.form('/rotate', MANAGE, rotate, showSecret),
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
async function create(visit: UserVisit, { database, catalogue, people: { keyPeppers } }: ApiServices): Promise<string> {
  const { id: accountId } = await existingOpenAccount(database, visit.params['account_id'] ?? '');
  const settings = readSettings(visit, catalogue, null);
  await assertMayAdd(visit, database, accountId);
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

/** @throws FormError if the account has too many keys */
async function assertMayAdd({ texts }: UserVisit, database: Database, accountId: string): Promise<void> {
  const { length } = await listApiKeys(database, { accountId, limit: MAX_KEYS });
  if (length >= MAX_KEYS) throw new FormError(texts.keys.tooMany(MAX_KEYS));
}

/** @returns the secret of the new key */
async function rotate(visit: UserVisit, { database, clock, people: { keyPeppers } }: ApiServices): Promise<string> {
  const { id: keyId, accountId } = await keyOf(visit, { database });
  await assertMayAdd(visit, database, accountId);
  const { hours = ROTATION_HOURS } = validateRotation({ hours: visit.form.number('hours') });
  const rotated = requireFound(await rotateApiKey(database, keyPeppers, { keyId, hours, nowMs: clock.nowMs() }));
  return rotated.secret;
}

/** @throws ServiceError `not_found`, also for a key of another account */
async function keyOf({ params }: UserVisit, { database }: Pick<ApiServices, 'database'>): Promise<ApiKey> {
  const key = await findApiKey(database, params['key_id'] ?? '');
  return requireFound(key?.accountId === params['account_id'] ? key : null);
}

async function showKeys(visit: UserVisit, { database, catalogue }: ApiServices): Promise<PageResult> {
  const { id: accountId } = await existingAccount(database, visit.params['account_id'] ?? '');
  const { keys: messages, titles } = visit.texts;
  return showPage(
    titles.keys,
    isStaffPage(visit) ? null : <ApiReference />,
    <KeyTable
      keys={await listApiKeys(database, { accountId, limit: MAX_KEYS })}
      none={messages.none}
      path={visit.path}
      mayChange
    />,
    <Card title={messages.create}>
      <KeyForm action={visit.path} stored={null} catalogue={catalogue} />
    </Card>,
  );
}

async function showKey(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const stored = await keyOf(visit, services);
  const { keys: messages, common, titles } = visit.texts;
  const name = stored.name || messages.unnamed;
  return showPage(
    name,
    <Card>
      <KeyFacts apiKey={stored} />
      <div class="row actions">
        <a href={listOf(visit)}>{titles.keys}</a>
        <FormButton action={`${visit.path}/delete`} label={common.delete} look="danger" question={messages.delete} />
      </div>
    </Card>,
    <RefusedCalls
      calls={await listRefusedCalls(services.database, { accountId: stored.accountId, apiKeyId: stored.id })}
    />,
    <Card title={messages.rotate}>
      <p class="soft">{messages.rotateHint}</p>
      <Form action={`${visit.path}/rotate`} submit={messages.rotate} look="quiet">
        <Choice name="hours" label={messages.oldKeyWorks} value="24" options={Object.entries(messages.rotations)} />
      </Form>
    </Card>,
    <Card title={messages.edit}>
      <KeyForm action={visit.path} stored={stored} catalogue={services.catalogue} />
    </Card>,
  );
}

function showSecret(visit: UserVisit, secret: string): PageResult {
  const { keys: messages, common } = visit.texts;
  return showPage(
    messages.madeTitle,
    <Card>
      <p>{messages.made}</p>
      <Copyable text={secret} label={messages.madeTitle} />
      <p>
        <ButtonLink href={listOf(visit)} label={common.done} />
      </p>
    </Card>,
  );
}
