import { assertAllowedAddress } from '../../../api/middlewares/authenticate.ts';
import { createApiKey } from '../../../api/services/create-key.ts';
import { type Caller, listApiKeys } from '../../../db/queries/api-keys.ts';
import { findPlannedVersions } from '../../../db/queries/price-lists.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { assertUsable } from '../../../domain/api-key.ts';
import type { MemberVisit } from '../../page.ts';
import { ownAccount } from '../own-account.ts';

/** Usage and limits belong to keys. Nobody knows the secret of this key, and the key can have limits like any other. */
const KEY_NAME = 'Console';

/**
 * Returns the caller of the console's calls: the account's key with this name, created at its first use. Counts the call
 * against the key's rate limit.
 *
 * @throws ServiceError 401 `invalid_api_key` for a disabled key, 403 `forbidden` for an address that the key does not allow, 429
 *   `rate_limit_exceeded`
 */
export async function consoleCaller(visit: MemberVisit, services: ApiServices): Promise<Caller> {
  const caller = await findCaller(visit, services);
  assertUsable(caller.key, caller.account, new Date(services.clock.nowMs()));
  assertAllowedAddress(caller.key, visit.ip, 'forbidden');
  return services.requestLimit.holdTo(visit.context, caller);
}

async function findCaller(visit: MemberVisit, services: ApiServices): Promise<Caller> {
  const { database, keyPeppers } = services;
  const { accountId } = visit.account;
  const [account, prices, [known]] = await Promise.all([
    ownAccount(visit, services),
    findPlannedVersions(database, accountId),
    listApiKeys(database, { accountId, name: KEY_NAME, limit: 1 }),
  ]);
  const key = known ?? (await createApiKey(database, keyPeppers, accountId, { name: KEY_NAME })).key;
  // The console's calls name no end users.
  return { key, account: { ...account, prices, budgetsVersion: 0 } };
}
