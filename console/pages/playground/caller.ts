import { assertAllowedAddress } from '../../../api/middlewares/authenticate.ts';
import { createApiKey } from '../../../api/services/create-key.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { type Caller, listApiKeys } from '../../../db/queries/api-keys.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { assertUsable } from '../../../domain/api-key.ts';
import type { MemberVisit } from '../../page.ts';

/** Usage and limits belong to keys. This one has no secret that anybody knows, and may be limited like every other. */
const KEY_NAME = 'Console';

/**
 * Who the calls of the console are made by: the account's key of that name, which is made when it is first needed. Counts the
 * call among those that the key may make in a minute.
 *
 * @throws ServiceError 401 `invalid_api_key` for a key that may not be used, 403 `forbidden` from where it may not be used, 429
 *   `rate_limit_exceeded`
 */
export async function consoleCaller({ account, context }: MemberVisit, services: ApiServices): Promise<Caller> {
  const caller = await findCaller(services, account.accountId);
  assertUsable(caller.key, caller.account, new Date(services.clock.nowMs()));
  assertAllowedAddress(caller.key, context.ip, 'forbidden');
  return services.requestLimit.holdTo(context, caller);
}

async function findCaller({ database, keyPeppers }: ApiServices, accountId: string): Promise<Caller> {
  const [account, [known]] = await Promise.all([
    findAccount(database, accountId),
    listApiKeys(database, { accountId, name: KEY_NAME, limit: 1 }),
  ]);
  if (!account) throw new Error(`account ${accountId} cannot have disappeared`);
  const key = known ?? (await createApiKey(database, keyPeppers, accountId, { name: KEY_NAME })).key;
  return { key, account };
}
