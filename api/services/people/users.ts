/** Actions of the administration on users that change more than their row. */
import type { Database } from '../../../db/database.ts';
import { deleteSessionsOf, deleteUserLinks } from '../../../db/queries/sessions.ts';
import {
  disableUser,
  enableUser,
  removeSecondFactor,
  updateUser,
  type UserDetails,
} from '../../../db/queries/users.ts';

export interface UserChanges extends UserDetails {
  readonly disabled?: boolean | undefined;
  /** Null takes the second factor away. */
  readonly secondFactor?: null | undefined;
}

/** Changes the given fields, all or nothing. Disabling a user signs them out at once, and their links stop working. */
export function changeUser(
  database: Database,
  userId: string,
  { disabled, secondFactor, ...details }: UserChanges,
): Promise<void> {
  return database.transaction(async (transaction) => {
    await updateUser(transaction, userId, details);
    if (secondFactor === null) await removeSecondFactor(transaction, userId);
    if (disabled === false) await enableUser(transaction, userId);
    if (disabled !== true) return;
    await disableUser(transaction, userId);
    await deleteSessionsOf(transaction, userId, null);
    await deleteUserLinks(transaction, userId);
  });
}
