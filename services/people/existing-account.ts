import type { Database } from '../../db/database.ts';
import { type Account, findAccount } from '../../db/queries/accounts.ts';
import { ServiceError } from '../../domain/errors.ts';
import { notFoundError } from '../../domain/not-found.ts';

/** The account with this id. @throws ServiceError `not_found` */
export async function existingAccount(database: Database, accountId: string): Promise<Account> {
  const account = await findAccount(database, accountId);
  if (!account) throw notFoundError('account', null, { path: ['account_id'], kind: 'account.unknown', values: {} });
  return account;
}

/** The account itself or, after merges, the last account into which its money moved. @throws ServiceError `not_found` */
export async function survivingAccount(database: Database, accountId: string): Promise<Account> {
  const account = await existingAccount(database, accountId);
  return account.mergedInto === null ? account : survivingAccount(database, account.mergedInto);
}

/** As {@link existingAccount}, for changes that a closed account no longer gets. @throws ServiceError 409 if it is closed or merged */
export async function existingOpenAccount(database: Database, accountId: string): Promise<Account> {
  const account = await existingAccount(database, accountId);
  if (account.closedAt !== null)
    throw new ServiceError('bad_request', 'The owner closed the account. A closed account cannot be used again.', {
      status: 409,
    });
  if (account.mergedInto !== null)
    throw new ServiceError('bad_request', `The account was merged. Use the account ${account.mergedInto}.`, {
      status: 409,
    });
  return account;
}
