/**
 * Closes an account on its owner's wish: see `docs/console.md`. One transaction ends all that works, erases what the books
 * do not need, and stops the rest, which loops of the api processes then remove: content, promo credit, and the customers at
 * the payment provider. Tasks and requests in progress end as those of a suspended account, and their charges are booked.
 */
import type { Database } from '../../db/database.ts';
import { type Account, lockAccount } from '../../db/queries/accounts.ts';
import { recallAllowances } from '../../db/queries/allowances.ts';
import { deletePeople, endPrograms, markClosed } from '../../db/queries/closed-accounts.ts';
import { eraseContent } from '../../db/queries/content.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { recordAccountAction } from '../../db/queries/operator-actions.ts';
import type { LinkMaker } from '../../db/queries/sessions.ts';
import type { LockedMember } from '../../db/queries/users.ts';
import { formatDollars } from '../../domain/money.ts';
import { existingAccount } from './existing-account.ts';
import { asOwner } from './members.ts';

/** Why an account cannot be closed: it owes money, or the operator still has to look at it. */
export type ClosingRefusal = 'owes' | 'suspended';

/** Returns null if the owner may close the account. */
export function closingRefusalOf({ debt, suspendedAt }: Account): ClosingRefusal | null {
  if (debt > 0n) return 'owes';
  return suspendedAt === null ? null : 'suspended';
}

/**
 * Closes the account for ever, and informs its members by e-mail.
 *
 * @returns whether the owner's user is deleted, because the user belongs to no other account
 * @throws ServiceError `forbidden` for a user who is no owner, such as after the account was closed
 */
export async function closeAccount(
  database: Database,
  by: LinkMaker,
): Promise<{ readonly isUserDeleted: boolean } | ClosingRefusal> {
  const { accountId, ownerId } = by;
  const closed = await asOwner(database, by, async (transaction, members) => {
    await lockAccount(transaction, accountId);
    const account = await existingAccount(transaction, accountId);
    const refusal = closingRefusalOf(account);
    if (refusal !== null) return refusal;
    await eraseContent(transaction, accountId);
    await markClosed(transaction, accountId);
    await endPrograms(transaction, accountId);
    await recordAccountAction(transaction, {
      accountId,
      kind: 'close',
      author: ownerId,
      reason: describeBalance(account),
    });
    const deletedIds = await deletePeople(transaction, accountId);
    for (const member of members) await orderGoodbye(transaction, account, member);
    return { isUserDeleted: deletedIds.includes(ownerId) };
  });
  if (typeof closed === 'object') await recallAllowances(database, { accountId });
  return closed;
}

function describeBalance({ fundedAvailable, fundedReserved }: Account): string {
  const held = fundedReserved === 0n ? '' : `, of which ${formatDollars(fundedReserved)} are on hold`;
  return `closed by its owner with ${formatDollars(fundedAvailable + fundedReserved)} of funds${held}`;
}

/** The e-mail names no user, so that it is sent although the user is deleted. */
function orderGoodbye(
  transaction: Database,
  { id: accountId, name: account }: Account,
  { userId, email: address, language }: LockedMember,
): Promise<void> {
  const reference = `account_closed:${accountId}:${userId}`;
  return orderMail(transaction, { kind: 'account_closed', address, reference, facts: { account, language } });
}
