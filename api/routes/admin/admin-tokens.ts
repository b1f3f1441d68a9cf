/** Admin tokens, and what was done with them. */
import {
  type AdminAction,
  type AdminToken,
  insertAdminToken,
  listAdminActions,
  listAdminTokens as findAdminTokens,
  revokeAdminToken as revoke,
} from '../../../db/queries/admin-tokens.ts';
import { ADMIN_ROLES } from '../../../domain/admin-role.ts';
import { badRequest } from '../../../domain/errors.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { digestToken } from '../../../net/bearer-token.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { pageById, pageOf, presentPage } from '../../endpoint/page.ts';
import { noSuch } from '../../endpoint/path.ts';
import { anyText, PERIOD } from '../../endpoint/query.ts';
import {
  arrayOf,
  boolean,
  exactly,
  idOf,
  isoTime,
  namedObject,
  object,
  oneOfTexts,
  optional,
  text,
} from '../../openapi/json-schema.ts';
import { hintOfAdminToken, newAdminToken, SHARED_NAME } from '../../services/administrator.ts';
import { createAdminTokenSchema } from './schema.ts';

const AdminTokenSchema = namedObject<ReturnType<typeof presentToken>>('AdminToken', {
  id: idOf('adminToken'),
  object: exactly('admin_token'),
  name: text('Whose it is: the author of what is done with it'),
  role: oneOfTexts(ADMIN_ROLES),
  admin_token: optional(text('The token itself; shown only when it was just made')),
  hint: text('Enough of the token to recognise it'),
  created_by: text('Who made it'),
  created_at: isoTime('When it was made'),
  expires_at: nullable(isoTime('When it stops working')),
  last_used_at: nullable(isoTime('When it was last used, to within a minute')),
});

const AdminActionSchema = namedObject<ReturnType<typeof presentAction>>('AdminAction', {
  id: idOf('adminAction'),
  object: exactly('admin_action'),
  author: text('Who'),
  admin_token_id: nullable(idOf('adminToken', 'With which token; null for the one in the environment')),
  action: text('What: the `operationId` of the call; `console` and the page for what was done in the console'),
  path: text('As it was called'),
  request_id: idOf('request'),
  created_at: isoTime('When; before it was carried out'),
});

export const createAdminToken = endpoint({
  id: 'createAdminToken',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/admin-tokens',
  access: 'admin',
  summary: 'Create an admin token',
  description:
    'The answer is the only one that shows the token. A name may have several: to replace a token, create another, put it ' +
    'to use, and revoke the old one.',
  body: jsonBody('CreateAdminToken', createAdminTokenSchema),
  answers: { 201: dataOf(AdminTokenSchema, 'The token') },
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
      expiresAt: typeof expires_at === 'string' ? new Date(expires_at) : null,
    });
    return { data: presentToken(token, secret) };
  },
});

export const listAdminTokens = endpoint({
  id: 'listAdminTokens',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/admin-tokens',
  access: 'admin',
  summary: 'List the admin tokens that are not revoked, newest first',
  answers: { 200: dataOf(arrayOf(AdminTokenSchema), 'The tokens') },
  handle: async (_call, { database }) => ({
    data: (await findAdminTokens(database)).map((token) => presentToken(token)),
  }),
});

export const revokeAdminToken = endpoint({
  id: 'revokeAdminToken',
  tag: 'Administration',
  method: 'delete',
  path: '/admin/v1/admin-tokens/{admin_token_id}',
  access: 'admin',
  summary: 'Revoke an admin token; it stops working at once',
  answers: {
    200: dataOf(
      object({ id: idOf('adminToken'), object: exactly('admin_token'), name: text(), revoked: boolean() }),
      'It is revoked',
    ),
  },
  handle: async ({ params: { admin_token_id: id } }, { database }) => {
    const token = await revoke(database, id);
    if (!token) throw noSuch('adminToken');
    return { data: { id, object: 'admin_token', name: token.name, revoked: true } };
  },
});

export const listActions = endpoint({
  id: 'listAdminActions',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/admin-actions',
  access: 'admin-read',
  summary: 'List what was changed over the administration endpoints, and by whom, newest first',
  description: 'An action is written down before it is carried out; one that was then refused is listed as well.',
  query: { author: anyText('Only actions of that author'), ...PERIOD, ...pageById('adminAction') },
  answers: { 200: pageOf(AdminActionSchema, 'A page of actions') },
  handle: async ({ query: { cursor: before, limit, ...filter } }, { database }) => {
    const actions = await listAdminActions(database, { ...filter, before, limit: limit + 1 });
    return presentPage(actions, limit, presentAction);
  },
});

/** @param secret the token itself, only in the answer to its creation */
function presentToken(token: AdminToken, secret?: string) {
  return {
    id: token.id,
    object: 'admin_token',
    name: token.name,
    role: token.role,
    ...(secret !== undefined && { admin_token: secret }),
    hint: token.hint,
    created_by: token.createdBy,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt?.toISOString() ?? null,
    last_used_at: token.lastUsedAt?.toISOString() ?? null,
  };
}

function presentAction({ id, author, tokenId, action, path, requestId, createdAt }: AdminAction) {
  return {
    id,
    object: 'admin_action',
    author,
    admin_token_id: tokenId,
    action,
    path,
    request_id: requestId,
    created_at: createdAt.toISOString(),
  };
}
