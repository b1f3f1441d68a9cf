import type { Database } from '../../db/database.ts';
import { type Account, findAccount } from '../../db/queries/accounts.ts';
import { notFoundError } from '../../domain/not-found.ts';

/** The account with this id. @throws ServiceError `not_found` */
export async function existingAccount(database: Database, accountId: string): Promise<Account> {
  const account = await findAccount(database, accountId);
  if (!account) throw notFoundError('account', null, { path: ['account_id'], kind: 'account.unknown', values: {} });
  return account;
}
