import { createApiKey } from '../../../api/services/create-key.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { type Caller, listApiKeys } from '../../../db/queries/api-keys.ts';
import type { ApiServices } from '../../../api/services/services.ts';

/** Usage and limits belong to keys. This one has no secret that anybody knows, and may be limited like every other. */
const KEY_NAME = 'Console';

/** Who the tasks of the console are made by: the account's key of that name, which is made when it is first needed. */
export async function consoleCaller({ database, keyPeppers }: ApiServices, accountId: string): Promise<Caller> {
  const [account, [known]] = await Promise.all([
    findAccount(database, accountId),
    listApiKeys(database, { accountId, name: KEY_NAME, limit: 1 }),
  ]);
  if (!account) throw new Error(`account ${accountId} cannot have disappeared`);
  const key = known ?? (await createApiKey(database, keyPeppers, accountId, { name: KEY_NAME })).key;
  return { key, account };
}
