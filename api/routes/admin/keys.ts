/** API keys: contract 4.11. */
import { deleteApiKey, findApiKey, listApiKeys, updateApiKey } from '../../../db/queries/api-keys.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { createApiKey, rotateApiKey } from '../../../services/people/create-key.ts';
import { existingAccount, existingOpenAccount } from '../../../services/people/existing-account.ts';
import { API_KEY, DELETED_KEY } from '../../../services/resources/admin.ts';
import { createKeySchema, rotateKeySchema, ROTATION_HOURS, updateKeySchema } from '../../../services/input/admin.ts';
import { toKeySettings } from '../../../services/input/key-settings.ts';

export const keyEndpoints = endpoints('Administration', {
  createKey: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/keys',
    access: 'admin',
    summary: 'Create an API key',
    description: 'Only this answer shows the key itself.',
    body: optionalJsonBody('CreateKey', createKeySchema),
    answers: { 201: dataOf(API_KEY.schema, 'The key') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params, body }, { database, catalogue, people: { keyPeppers } }) => {
      const { id: accountId } = await existingOpenAccount(database, params.account_id);
      const { key, secret } = await createApiKey(database, keyPeppers, accountId, toKeySettings(body, catalogue));
      return { data: API_KEY.present({ ...key, secret }) };
    },
  }),
  listKeys: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/keys',
    access: 'admin-read',
    summary: 'List the keys of an account, newest first',
    query: pageById('apiKey'),
    answers: { 200: pageOf(API_KEY.schema, 'A page of keys') },
    handle: async ({ params, query }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      return listPage(query, (slice) => listApiKeys(database, { accountId, ...slice }), API_KEY.present);
    },
  }),
  getKey: endpoint({
    request: 'GET /admin/v1/keys/{key_id}',
    access: 'admin-read',
    summary: 'Get a key with its limits and usage',
    answers: { 200: dataOf(API_KEY.schema, 'The key') },
    handle: async ({ params }, { database }) => {
      const key = await findApiKey(database, params.key_id);
      if (!key) throw notFoundError('apiKey');
      return { data: API_KEY.present(key) };
    },
  }),
  updateKey: endpoint({
    request: 'PATCH /admin/v1/keys/{key_id}',
    access: 'admin',
    summary: 'Change a key’s limits, or disable it',
    description: 'Omitted fields stay unchanged.',
    body: optionalJsonBody('UpdateKey', updateKeySchema),
    answers: { 200: dataOf(API_KEY.schema, 'The changed key') },
    handle: async ({ params, body }, { database, catalogue }) => {
      const key = await updateApiKey(database, params.key_id, toKeySettings(body, catalogue));
      if (!key) throw notFoundError('apiKey');
      return { data: API_KEY.present(key) };
    },
  }),
  rotateKey: endpoint({
    request: 'POST /admin/v1/keys/{key_id}/rotate',
    access: 'admin',
    summary: 'Replace a key by a new key with the same limits',
    description:
      'Only this answer shows the new key itself. The old key goes on working for the given hours. Each key counts its own spending.',
    body: optionalJsonBody('RotateKey', rotateKeySchema),
    answers: { 201: dataOf(API_KEY.schema, 'The new key') },
    handle: async ({ params, body: { hours = ROTATION_HOURS } }, { database, clock, people: { keyPeppers } }) => {
      const rotated = await rotateApiKey(database, keyPeppers, { keyId: params.key_id, hours, nowMs: clock.nowMs() });
      if (!rotated) throw notFoundError('apiKey');
      return { data: API_KEY.present({ ...rotated.key, secret: rotated.secret }) };
    },
  }),
  deleteKey: endpoint({
    request: 'DELETE /admin/v1/keys/{key_id}',
    access: 'admin',
    summary: 'Delete a key at once',
    answers: { 200: dataOf(DELETED_KEY.schema, 'The deleted key') },
    handle: async ({ params: { key_id: id } }, { database }) => {
      if (!(await deleteApiKey(database, id))) throw notFoundError('apiKey');
      return { data: DELETED_KEY.present({ id }) };
    },
  }),
});
