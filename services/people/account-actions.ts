/** Operators' actions on accounts: each is done and recorded together, or not at all. */
import type { Database } from '../../db/database.ts';
import { recallAllowances } from '../../db/queries/allowances.ts';
import { reopenAccount as reopen, suspendAccount as suspend } from '../../db/queries/accounts.ts';
import { eraseContent } from '../../db/queries/content.ts';
import { type AccountActionKind, type Authorship, recordAccountAction } from '../../db/queries/operator-actions.ts';
import { existingAccount, existingOpenAccount } from './existing-account.ts';

/** Stops all keys of the account, and waits until every process has stopped them. @throws ServiceError `not_found` */
export async function suspendAccount(database: Database, accountId: string, by: Authorship): Promise<void> {
  await suspendOnCommit(database, accountId, by);
  await recallAllowances(database, { accountId });
}

/** Stops all keys of the account, in every process soon after the transaction is committed. @throws ServiceError `not_found` */
export function suspendOnCommit(transaction: Database, accountId: string, by: Authorship): Promise<void> {
  return act(transaction, accountId, { kind: 'suspend', ...by }, suspend);
}

/** The keys of the account work again. @throws ServiceError `not_found`; 409 for a closed or merged account */
export function reopenAccount(database: Database, accountId: string, by: Authorship): Promise<void> {
  return act(database, accountId, { kind: 'reopen', ...by }, async (transaction) => {
    await existingOpenAccount(transaction, accountId);
    await reopen(transaction, accountId);
  });
}

/**
 * Erases all content that the account has sent and received until now. Records of money stay.
 *
 * @throws ServiceError `not_found`
 */
export function eraseContentOf(database: Database, accountId: string, by: Authorship): Promise<void> {
  return act(database, accountId, { kind: 'erase', ...by }, eraseContent);
}

function act(
  database: Database,
  accountId: string,
  action: Authorship & { readonly kind: AccountActionKind },
  doIt: (database: Database, accountId: string) => Promise<void>,
): Promise<void> {
  return database.transaction(async (transaction) => {
    await existingAccount(transaction, accountId);
    await doIt(transaction, accountId);
    await recordAccountAction(transaction, { accountId, ...action });
  });
}
