/** Actions of the administration on users that change more than their row. */
import type { Database } from '../../db/database.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { deleteUserSessions, deleteUserLinks } from '../../db/queries/sessions.ts';
import {
  disableUser,
  enableUser,
  insertUser,
  type NewUser,
  removeSecondFactor,
  setMember,
  updateUser,
  type User,
  type UserDetails,
} from '../../db/queries/users.ts';
import { badRequest } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { MemberRole } from '../../domain/roles.ts';
import type { Services } from '../services.ts';
import { makeLink, passwordLink } from './sign-in.ts';

type LinkServices = Pick<Services, 'database' | 'publicUrl' | 'people'>;

/**
 * Creates a user, who chooses a password by the link. Adds the user to the account, if one is given.
 *
 * @throws ServiceError `bad_request` if a user already has the address
 */
export function inviteUser(
  { database, publicUrl, people: { canSendMail } }: LinkServices,
  person: Pick<NewUser, 'email' | 'name' | 'staffRole'>,
  membership: { readonly accountId: string; readonly role: MemberRole } | null,
): Promise<{ readonly user: User; readonly link: string }> {
  return database.transaction(async (transaction) => {
    const email = person.email.toLowerCase();
    const user = await insertUser(transaction, { ...person, id: newId('user'), email, passwordHash: null });
    if (!user) throw badRequest('"email" is the address of another user');
    if (membership !== null) await setMember(transaction, { ...membership, userId: user.id });
    if (canSendMail) await orderMail(transaction, passwordLink(user.email));
    return { user, link: publicUrl + (await makeLink(transaction, user.id, 'invitation')) };
  });
}

/**
 * Makes a link by which a user chooses a new password.
 *
 * @throws ServiceError `bad_request` for a user who is disabled
 */
export async function makeUserLink(
  { database, publicUrl, people: { canSendMail } }: LinkServices,
  user: User,
): Promise<string> {
  if (user.disabledAt !== null) throw badRequest('The user is disabled. Enable the user before you create a link.');
  if (canSendMail) await orderMail(database, passwordLink(user.email));
  return publicUrl + (await makeLink(database, user.id, 'new_password'));
}

export interface UserChanges extends UserDetails {
  readonly disabled?: boolean | undefined;
  /** Null removes the second factor. */
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
    await deleteUserSessions(transaction, userId, null);
    await deleteUserLinks(transaction, userId);
  });
}
