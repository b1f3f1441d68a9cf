/** Admin tokens, and the log of their actions. */
import {
  type AdminToken,
  insertAdminToken,
  listAdminActions as findAdminActions,
  listAdminTokens as findAdminTokens,
  revokeAdminToken as revoke,
} from '../../../db/queries/admin-tokens.ts';
import { ADMIN_ROLES } from '../../../domain/roles.ts';
import { badRequest } from '../../../domain/errors.ts';
import { digestToken } from '../../../domain/bearer-token.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { idParameter, textParameter, PERIOD } from '../../endpoint/query.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { arrayOf, boolean, exactly, idOf, object, text } from '../../../domain/json-schema.ts';
import { hintOfAdminToken, newAdminToken, SHARED_NAME } from '../../../services/people/administrator.ts';
import { createAdminTokenSchema } from '../../../services/input/admin.ts';
import { ADMIN_ACTION } from '../../../services/resources/admin.ts';

/** A token; `secret` is the token itself, only in the answer to its creation. */
const ADMIN_TOKEN = resource<AdminToken & { readonly secret?: string }>('AdminToken', {
  id: field.id('adminToken')('id'),
  object: field.constant('admin_token'),
  name: field.text('name', 'The holder of the token: the author of each action with it'),
  role: field.oneOf(ADMIN_ROLES)('role'),
  admin_token: field.text.orAbsent(({ secret }) => secret, 'The token itself. Present only at creation'),
  hint: field.text('hint', 'A part of the token, to recognise the token'),
  created_by: field.text('createdBy', 'The author of the token'),
  created_at: field.isoTime('createdAt', 'When the token was created'),
  expires_at: field.isoTime.orNull('expiresAt', 'When the token expires. Null for never'),
  last_used_at: field.isoTime.orNull('lastUsedAt', 'When the token was last used, to within a minute. Null for never'),
});

export const adminTokenEndpoints = endpoints('Administration', {
  createAdminToken: endpoint({
    request: 'POST /admin/v1/admin-tokens',
    access: 'admin',
    summary: 'Create an admin token',
    description:
      'Only this answer shows the token. A name may have several tokens: to replace a token, create and use a new one, then ' +
      'revoke the old one.',
    body: jsonBody('CreateAdminToken', createAdminTokenSchema),
    answers: { 201: dataOf(ADMIN_TOKEN.schema, 'The token') },
    handle: async ({ caller, body: { name, role, expires_at } }, { database }) => {
      if (name === SHARED_NAME)
        throw badRequest(`"name" must not be ${SHARED_NAME}, which stands for GENWAY_ADMIN_TOKEN`);
      const secret = newAdminToken();
      const token = await insertAdminToken(database, {
        name,
        role,
        digest: digestToken(secret),
        hint: hintOfAdminToken(secret),
        createdBy: caller.name,
        expiresAt: expires_at ?? null,
      });
      return { data: ADMIN_TOKEN.present({ ...token, secret }) };
    },
  }),
  listAdminTokens: endpoint({
    request: 'GET /admin/v1/admin-tokens',
    access: 'admin',
    summary: 'List the unrevoked admin tokens, newest first',
    answers: { 200: dataOf(arrayOf(ADMIN_TOKEN.schema), 'The tokens') },
    handle: async (_call, { database }) => ({ data: (await findAdminTokens(database)).map(ADMIN_TOKEN.present) }),
  }),
  revokeAdminToken: endpoint({
    request: 'DELETE /admin/v1/admin-tokens/{admin_token_id}',
    access: 'admin',
    summary: 'Revoke an admin token at once',
    answers: {
      200: dataOf(
        object({ id: idOf('adminToken'), object: exactly('admin_token'), name: text(), revoked: boolean() }),
        'The revoked token',
      ),
    },
    handle: async ({ params: { admin_token_id: id } }, { database }) => {
      const token = await revoke(database, id);
      if (!token) throw notFoundError('adminToken');
      return { data: { id, object: 'admin_token', name: token.name, revoked: true } };
    },
  }),
  listAdminActions: endpoint({
    request: 'GET /admin/v1/admin-actions',
    access: 'admin-read',
    summary: 'List the actions of administrators, newest first',
    description: 'Genway records an action before its execution, so the list contains refused actions too.',
    query: {
      author: textParameter('Filters by author'),
      account_id: idParameter('account', 'Filters by account'),
      ...PERIOD,
      ...pageById('adminAction'),
    },
    answers: { 200: pageOf(ADMIN_ACTION.schema, 'A page of actions') },
    handle: ({ query }, { database }) =>
      listPage(
        query,
        (slice) => findAdminActions(database, { ...query, accountId: query.account_id, ...slice }),
        ADMIN_ACTION.present,
      ),
  }),
});
