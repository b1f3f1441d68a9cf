/** API keys: contract 4.11. */
import { deleteApiKey, type KeySettings, updateApiKey } from '../../../db/queries/api-keys.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { noSuch } from '../../endpoint/path.ts';
import { createApiKey } from '../../services/create-key.ts';
import { existingAccount } from './existing-account.ts';
import { ApiKeySchema, DeletedKeySchema, presentKey } from './present.ts';
import { createKeySchema, updateKeySchema, type UpdateKeyBody } from './schema.ts';

export const createKey = endpoint({
  id: 'createKey',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/accounts/{account_id}/keys',
  access: 'admin',
  summary: 'Create an API key',
  description: 'Only this answer shows the key itself.',
  body: optionalJsonBody('CreateKey', createKeySchema),
  answers: { 201: dataOf(ApiKeySchema, 'The key') },
  handle: async ({ params, body }, { database, keyPeppers }) => {
    const { id: accountId } = await existingAccount(database, params.account_id);
    const { key, secret } = await createApiKey(database, keyPeppers, accountId, toKeySettings(body));
    return { data: presentKey(key, secret) };
  },
});

export const updateKey = endpoint({
  id: 'updateKey',
  tag: 'Administration',
  method: 'patch',
  path: '/admin/v1/keys/{key_id}',
  access: 'admin',
  summary: 'Change a key’s limits, or disable it',
  description: 'Fields that are not sent stay unchanged.',
  body: optionalJsonBody('UpdateKey', updateKeySchema),
  answers: { 200: dataOf(ApiKeySchema, 'The changed key') },
  handle: async ({ params, body }, { database }) => {
    const key = await updateApiKey(database, params.key_id, toKeySettings(body));
    if (!key) throw noSuch('apiKey');
    return { data: presentKey(key) };
  },
});

export const deleteKey = endpoint({
  id: 'deleteKey',
  tag: 'Administration',
  method: 'delete',
  path: '/admin/v1/keys/{key_id}',
  access: 'admin',
  summary: 'Delete a key; it stops working at once',
  answers: { 200: dataOf(DeletedKeySchema, 'Deleted') },
  handle: async ({ params: { key_id: id } }, { database }) => {
    if (!(await deleteApiKey(database, id))) throw noSuch('apiKey');
    return { data: { id, object: 'api_key', deleted: true } };
  },
});

/** The settings that a checked body asks for. */
export function toKeySettings(body: UpdateKeyBody): KeySettings {
  const { usage_limit_usd: usageLimit, expires_at: expiresAt } = body;
  return {
    name: body.name,
    usageLimit: usageLimit === undefined || usageLimit === null ? usageLimit : parseUsd(usageLimit),
    models: body.models,
    ipAllowlist: body.ip_allowlist,
    rateLimitRpm: body.rate_limit_rpm,
    expiresAt: expiresAt === undefined || expiresAt === null ? expiresAt : new Date(expiresAt),
    disabled: body.disabled,
  };
}
