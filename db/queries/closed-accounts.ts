/** Closing accounts for ever, on their owners' wish: `services/people/close-account.ts` orders the steps. */
import type { Database } from '../database.ts';
import { markRecalled } from './allowances.ts';
import { cancelBatches } from './batches.ts';
import { IS_RUNNING } from './plans.ts';

/**
 * Closes the account: nothing of it works any more. The billing details and the name of an account that paid stay, for
 * its invoices; other accounts lose theirs.
 */
export async function markClosed(transaction: Database, accountId: string): Promise<void> {
  await transaction.raw(
    /* sql */ `
    UPDATE accounts SET closed_at = now(), suspended_at = now(), email = NULL, low_balance = NULL,
      name = CASE WHEN topped_up_at IS NULL THEN 'Closed account' ELSE name END,
      billing_name = CASE WHEN topped_up_at IS NOT NULL THEN billing_name END,
      billing_address = CASE WHEN topped_up_at IS NOT NULL THEN billing_address END,
      tax_id = CASE WHEN topped_up_at IS NOT NULL THEN tax_id END
    WHERE id = :accountId`,
    { accountId },
  );
  await transaction('registrations').where({ account_id: accountId }).update({ name: '' });
}

/** Deletes the keys and webhook endpoints of the account, cancels its batches, and recalls its allowances. */
export async function endPrograms(transaction: Database, accountId: string): Promise<void> {
  const now = transaction.fn.now();
  const ofAccount = { account_id: accountId, deleted_at: null };
  await transaction('api_keys').where(ofAccount).update({ deleted_at: now });
  await transaction('webhook_endpoints').where(ofAccount).update({ deleted_at: now });
  await cancelBatches(transaction, accountId);
  await markRecalled(transaction, { accountId });
}

/**
 * Ends all memberships of the account, and its invitations. Deletes the people who belong to no other account, except
 * staff and the disabled, whom a new registration would let in again; and the e-mails of the account and of these people.
 *
 * @returns the ids of the deleted people
 */
export async function deletePeople(transaction: Database, accountId: string): Promise<readonly string[]> {
  // First: an acceptance in progress is committed, or finds its invitation gone.
  await transaction('account_invitations').where({ account_id: accountId }).delete();
  const members = await transaction('account_members')
    .where({ account_id: accountId })
    .delete()
    .returning<{ user_id: string }[]>('user_id');
  const userIds = members.map(({ user_id: userId }) => userId);
  // Another account's invitation is accepted under this lock, so that the next statement sees the new membership.
  await transaction('users').whereIn('id', userIds).orderBy('id').forUpdate().select('id');
  const deleted = await transaction('users')
    .whereIn('id', userIds)
    .where({ staff_role: null, disabled_at: null })
    .whereNotExists(transaction('account_members').whereRaw('user_id = users.id'))
    .delete()
    .returning<{ id: string; email: string }[]>(['id', 'email']);
  await transaction('mails')
    .whereRaw('account_id = :accountId OR (account_id IS NULL AND address = ANY (:addresses))', {
      accountId,
      addresses: deleted.map(({ email }) => email),
    })
    .delete();
  return deleted.map(({ id }) => id);
}

/** A customer of a closed account at the payment provider, with a saved card or a running subscription. */
export interface DepartedCustomer {
  readonly accountId: string;
  readonly customer: string;
}

/** Finds customers whom the payment provider must still forget. */
export async function findDepartedCustomers(database: Database, limit: number): Promise<readonly DepartedCustomer[]> {
  const { rows } = await database.raw<{ rows: DepartedCustomer[] }>(
    /* sql */ `
    SELECT account_id AS "accountId", customer FROM (
      SELECT account_id, customer FROM auto_top_ups
      UNION
      SELECT account_id, customer FROM subscriptions
      WHERE ${IS_RUNNING}) AS known
    WHERE account_id IN (SELECT id FROM accounts WHERE closed_at IS NOT NULL)
    ORDER BY random() LIMIT :limit`,
    { limit },
  );
  return rows;
}

/** Records that the payment provider has deleted the customer, with the saved cards and subscriptions. */
export async function forgetCustomer(database: Database, { accountId, customer }: DepartedCustomer): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction('auto_top_ups').where({ account_id: accountId, customer }).delete();
    await transaction('subscriptions')
      .where({ account_id: accountId, customer })
      .update({
        status: 'canceled',
        ends_at: transaction.raw('least(ends_at, now())'),
        reading: transaction.raw(`nextval('subscription_readings')`),
      });
  });
}
