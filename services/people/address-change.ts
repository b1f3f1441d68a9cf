/**
 * Changes of a user's own e-mail address. Both mailboxes confirm: the new one, so that nobody takes the address of another
 * person, and the old one, so that a thief of a session and a password does not take the user. Nothing reveals whether
 * another user has the new address: that address gets no e-mail, and the change expires.
 */
import {
  type AddressChange,
  confirmAddressLink,
  deleteAddressChange,
  findAddressChange,
  findAddressChangeOfLink,
  saveAddressChange,
  setAddressLink,
} from '../../db/queries/address-changes.ts';
import { type Database, isDatabaseError, UNIQUE_VIOLATION } from '../../db/database.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { claimSignInAttempts, deleteUserLinks } from '../../db/queries/sessions.ts';
import { findUserByEmail, lockUser, setEmail, type User } from '../../db/queries/users.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { newToken } from './sessions.ts';

const LIFETIME_SECONDS = 24 * 3600;
const WINDOW_SECONDS = 15 * 60;
const MAX_CHANGES = 5;
/** As for other links to an address. */
const MAX_LINKS = 3;

/** Starts a change, and orders both e-mails. @param email in lower case @returns false after too many requests */
export async function requestAddressChange(
  database: Database,
  { id, email: old }: User,
  email: string,
): Promise<boolean> {
  const mayAsk = await claimSignInAttempts(database, [
    { subject: ['address changes of user', id], most: MAX_CHANGES, windowSeconds: WINDOW_SECONDS },
    { subject: ['link to address', email], most: MAX_LINKS, windowSeconds: WINDOW_SECONDS },
  ]);
  if (!mayAsk) return false;
  await database.transaction(async (transaction) => {
    await saveAddressChange(transaction, { userId: id, email, lifetimeSeconds: LIFETIME_SECONDS });
    for (const address of [old, email])
      await orderMail(transaction, { kind: 'address_change', address, userId: id, reference: null });
  });
  return true;
}

/**
 * Makes the link of one of the two mailboxes, when its e-mail is sent. The link replaces an earlier one.
 *
 * @returns null if the change is over, or another user has the new address
 */
export async function makeAddressLink(
  database: Database,
  userId: string,
  mailbox: string,
): Promise<(AddressChange & { readonly path: string }) | null> {
  const change = await findAddressChange(database, userId);
  if (!change || ![change.oldEmail, change.newEmail].includes(mailbox)) return null;
  const side = mailbox === change.oldEmail ? 'old' : 'new';
  if (side === 'new' && (await findUserByEmail(database, mailbox))) return null;
  const token = newToken();
  await setAddressLink(database, { userId, side, digest: digestToken(token) });
  return { ...change, path: `/console/address/${token}` };
}

/** The open change of a link; null if the link no longer works. */
export function findAddressChangeOf(database: Database, token: string): Promise<AddressChange | null> {
  return findAddressChangeOfLink(database, digestToken(token));
}

/**
 * Confirms a change for the mailbox that has the link. The second confirmation changes the address, and ends the links
 * that the old mailbox has.
 *
 * @returns `over` when the link no longer works, or another user has the address meanwhile
 */
export async function confirmAddressChange(database: Database, token: string): Promise<'changed' | 'waiting' | 'over'> {
  const digest = digestToken(token);
  try {
    return await database.transaction(async (transaction) => {
      const found = await findAddressChangeOfLink(transaction, digest);
      if (!found) return 'over';
      const { userId } = found;
      await lockUser(transaction, userId);
      // Another confirmation, or another change, may have come first.
      if (!(await findAddressChangeOfLink(transaction, digest))) return 'over';
      await confirmAddressLink(transaction, digest);
      const change = await findAddressChange(transaction, userId);
      if (!change?.isConfirmed) return 'waiting';
      await setEmail(transaction, userId, change.newEmail);
      await deleteAddressChange(transaction, userId);
      await deleteUserLinks(transaction, userId);
      return 'changed';
    });
  } catch (error) {
    if (!isDatabaseError(error, UNIQUE_VIOLATION)) throw error;
    return 'over';
  }
}
