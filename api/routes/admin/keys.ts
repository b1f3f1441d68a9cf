/** API keys. */
import type Router from '@koa/router';
import { findAccount } from '../../../db/queries/accounts.ts';
import { deleteApiKey, insertApiKey, type KeySettings, updateApiKey } from '../../../db/queries/api-keys.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isId, newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { digestApiKey, hintOf, newApiKey } from '../../services/api-key-digest.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context, RequestState } from '../../state.ts';
import { presentKey } from './present.ts';
import { parseCreateKey, parseUpdateKey, type UpdateKeyBody } from './schema.ts';

export function adminKeyRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, keyPepper } = services;

  router.post('/admin/v1/accounts/:accountId/keys', services.requireAdmin, services.jsonBody, async (context) => {
    const accountId = context.params['accountId'] ?? '';
    if (!isId('account', accountId) || !(await findAccount(database, accountId))) {
      throw new ServiceError('not_found', 'There is no such account. Check the id.');
    }
    const settings = toSettings(parseCreateKey(bodyOrNothing(context)));
    const secret = newApiKey();
    const key = await insertApiKey(database, {
      id: newId('apiKey'),
      accountId,
      digest: digestApiKey(secret, keyPepper),
      hint: hintOf(secret),
      settings,
    });
    context.status = 201;
    context.body = { data: presentKey(key, secret) };
  });

  router.patch('/admin/v1/keys/:keyId', services.requireAdmin, services.jsonBody, async (context) => {
    const settings = toSettings(parseUpdateKey(bodyOrNothing(context)));
    const key = await updateApiKey(database, keyIdOf(context), settings);
    if (!key) throw noSuchKey();
    context.body = { data: presentKey(key) };
  });

  router.delete('/admin/v1/keys/:keyId', services.requireAdmin, async (context) => {
    const keyId = keyIdOf(context);
    if (!(await deleteApiKey(database, keyId))) throw noSuchKey();
    context.body = { data: { id: keyId, object: 'api_key', deleted: true } };
  });
}

/** Without a body nothing is set; the JSON value null is no object. */
function bodyOrNothing({ state }: Context): unknown {
  return state.body === undefined ? {} : state.body;
}

function toSettings(body: UpdateKeyBody): KeySettings {
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

/** @throws ServiceError `not_found` for what is no id of a key */
function keyIdOf(context: Context): string {
  const keyId = context.params['keyId'] ?? '';
  if (!isId('apiKey', keyId)) throw noSuchKey();
  return keyId;
}

function noSuchKey(): ServiceError {
  return new ServiceError('not_found', 'There is no such key. Check the id.');
}
