import { createApiKey } from '../../../api/services/create-key.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { type Caller, listApiKeys } from '../../../db/queries/api-keys.ts';
import type { ConsoleServices } from '../../page.ts';

/** Usage and limits belong to keys. This one has no secret that anybody knows, and may be limited like every other. */
const KEY_NAME = 'Console';
const MOST_KEYS = 200;

/** Who the tasks of the console are made by: the account's key of that name, which is made when it is first needed. */
export async function consoleCaller({ database, keyPeppers }: ConsoleServices, accountId: string): Promise<Caller> {
  const [account, keys] = await Promise.all([
    findAccount(database, accountId),
    listApiKeys(database, { accountId, limit: MOST_KEYS }),
  ]);
  if (!account) throw new Error(`account ${accountId} cannot have disappeared`);
  const known = keys.find(({ name }) => name === KEY_NAME);
  const key = known ?? (await createApiKey(database, keyPeppers, accountId, { name: KEY_NAME })).key;
  return { key, account };
}
