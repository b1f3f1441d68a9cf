/** Saves a form that changes stored fields of the account in the page's path. */
import { existingAccount } from '../../services/people/existing-account.ts';
import type { Database } from '../../db/database.ts';
import { type Account, lockAccount } from '../../db/queries/accounts.ts';
import type { UserVisit } from '../page.ts';
import { saveIfUnchanged, type StoredFields } from '../stored-fields.ts';

/** @throws ChangedSinceError, or ServiceError `not_found` */
export function saveAccountIfUnchanged(
  visit: UserVisit,
  database: Database,
  fieldsOf: (account: Account) => StoredFields,
  save: (transaction: Database, account: Account) => Promise<void>,
): Promise<void> {
  const { account_id: accountId = '' } = visit.params;
  const find = async (transaction: Database): Promise<Account> => {
    await lockAccount(transaction, accountId);
    return existingAccount(transaction, accountId);
  };
  return saveIfUnchanged(visit, database, { find, fieldsOf, save });
}
