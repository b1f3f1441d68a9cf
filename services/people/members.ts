/**
 * Changes by owners to the people of their account. Every change first locks the account's members: an account keeps an
 * owner under concurrent changes, and a former owner changes nothing.
 */
import type { Database } from '../../db/database.ts';
import {
  deleteInvitation,
  deleteOwnerInvitations,
  findInvitation,
  type Invitation,
  listInvitations,
  renewInvitation,
  saveInvitation,
  consumeInvitation,
} from '../../db/queries/invitations.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { deleteOwnerLinks, type LinkMaker, type Session, claimSignInAttempts } from '../../db/queries/sessions.ts';
import { findCurrentPlan } from '../../db/queries/plans.ts';
import {
  addMember,
  insertUser,
  listMemberships,
  type LockedMember,
  lockMembers,
  removeMember as deleteMember,
  setMember,
  type User,
} from '../../db/queries/users.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { MemberRole } from '../../domain/roles.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { inOpenSession, newToken } from './sessions.ts';
import { uncountLinkAttempt, hashChosenPassword, makeLink, orderWelcome, passwordLink } from './sign-in.ts';

const MAX_LINKS = 20;
/** Invitations to one address. The limit is lower, since each invitation is an e-mail. */
const MAX_MAILS = 3;
const LINKS_WINDOW_SECONDS = 15 * 60;
const INVITATION_LIFETIME_SECONDS = 3 * 24 * 3600;
/** Members and open invitations of an account. */
const MAX_PEOPLE = 200;

/** Why an owner's change was not made. */
export type Refusal = 'last owner' | 'belongs elsewhere' | 'member already' | 'too many' | 'no seat' | 'too fast';

/**
 * Invites a person to an account. If e-mail is configured, the link is sent to the person. Otherwise the owner hands
 * over the link, which is returned only once.
 *
 * @param email in lower case
 */
export async function inviteMember(
  database: Database,
  by: LinkMaker,
  { email, role, canSendMail }: { readonly email: string; readonly role: MemberRole; readonly canSendMail: boolean },
): Promise<{ readonly path: string } | { readonly mailedTo: string } | Refusal> {
  if (await isTooFast(database, by, canSendMail ? email : null)) return 'too fast';
  return asOwner(database, by, async (transaction, members) => {
    if (members.some((member) => member.email === email)) return 'member already';
    const invitations = await listInvitations(transaction, by.accountId);
    const others = invitations.filter((invitation) => invitation.email !== email);
    const { seats = null } = (await findCurrentPlan(transaction, by.accountId)) ?? {};
    if (seats !== null && members.length + others.length >= seats) return 'no seat';
    if (members.length + others.length >= MAX_PEOPLE) return 'too many';
    const token = newToken();
    const digest = digestToken(token);
    await saveInvitation(transaction, {
      digest,
      accountId: by.accountId,
      email,
      role,
      invitedBy: by.ownerId,
      lifetimeSeconds: INVITATION_LIFETIME_SECONDS,
    });
    if (!canSendMail) return { path: invitationPath(token) };
    const reference = `membership:${digest.toString('base64url')}`;
    await orderMail(transaction, { kind: 'membership', address: email, accountId: by.accountId, reference });
    return { mailedTo: email };
  });
}

/**
 * Makes the link of an invitation for its e-mail. The link replaces an earlier one.
 *
 * @returns null if the invitation was withdrawn, replaced or accepted
 */
export async function makeInvitationLink(
  database: Database,
  mailId: string,
): Promise<{ readonly path: string; readonly accountName: string } | null> {
  const token = newToken();
  const link = { digest: digestToken(token), lifetimeSeconds: INVITATION_LIFETIME_SECONDS };
  const accountName = await renewInvitation(database, { mailId, ...link });
  return accountName === null ? null : { accountName, path: invitationPath(token) };
}

/** The path at which the invitation with the token is accepted. */
function invitationPath(token: string): string {
  return `/console/join/${token}`;
}

/** @throws ServiceError `not_found` */
export function withdrawInvitation(database: Database, by: LinkMaker, email: string): Promise<void> {
  return asOwner(database, by, async (transaction) => {
    if (!(await deleteInvitation(transaction, by.accountId, email))) throw noSuchMember();
  });
}

/** @throws ServiceError `not_found` */
export function changeRole(
  database: Database,
  by: LinkMaker,
  { userId, role }: { readonly userId: string; readonly role: MemberRole },
): Promise<Refusal | null> {
  return asOwner(database, by, async (transaction, members) => {
    const member = memberOf(members, userId);
    if (role !== 'owner' && isLastOwner(members, member)) return 'last owner';
    await setMember(transaction, { accountId: by.accountId, userId, role });
    if (role !== 'owner') await deleteLinksMadeBy(transaction, by.accountId, userId);
    return null;
  });
}

/** Ends a membership at once. @throws ServiceError `not_found` */
export function removeMember(database: Database, by: LinkMaker, userId: string): Promise<Refusal | null> {
  return asOwner(database, by, async (transaction, members) => {
    const member = memberOf(members, userId);
    if (isLastOwner(members, member)) return 'last owner';
    await deleteInvitation(transaction, by.accountId, member.email);
    await deleteMember(transaction, by.accountId, userId);
    return null;
  });
}

/**
 * Makes a link by which a member chooses a new password. If e-mail is configured, the link is sent to the member.
 * Otherwise the owner hands it over, but only to a member of no other account: the holder of the link can sign in as
 * the member.
 *
 * @throws ServiceError `not_found`
 */
export async function makeMemberLink(
  database: Database,
  by: LinkMaker,
  { userId, canSendMail }: { readonly userId: string; readonly canSendMail: boolean },
): Promise<{ readonly path: string } | { readonly mailedTo: string } | Refusal> {
  if (await isTooFast(database, by, null)) return 'too fast';
  return asOwner(database, by, async (transaction, members) => {
    const member = memberOf(members, userId);
    if (canSendMail) {
      await orderMail(transaction, passwordLink(member.email));
      return { mailedTo: member.email };
    }
    const memberships = await listMemberships(transaction, userId);
    if (memberships.length > 1 || member.isStaff || member.isDisabled) return 'belongs elsewhere';
    return { path: await makeLink(transaction, userId, 'new_password', by) };
  });
}

/** The invitation of a link; null if the link no longer works. */
export function findInvitationOf(database: Database, token: string): Promise<Invitation | null> {
  return findInvitation(database, digestToken(token));
}

/** Accepts an invitation for a signed-in user. @returns null if it no longer works, or is for another address */
export function acceptInvitation(database: Database, token: string, session: Session): Promise<Invitation | null> {
  // Locks the user, so a new password waits: a link that another account's owner holds must not lead into this account.
  return inOpenSession(database, session, async (transaction) => {
    const { user } = session;
    const found = await findInvitation(transaction, digestToken(token));
    if (found?.email !== user.email) return null;
    const invitation = await consumeInvitation(transaction, digestToken(token));
    if (!invitation) return null;
    await addMember(transaction, { ...invitation, userId: user.id });
    await orderWelcome(transaction, user);
    return invitation;
  });
}

/**
 * Accepts an invitation for a new user.
 *
 * @returns `over` when the invitation no longer works, or a user already has its address
 */
export async function acceptAsNewUser(
  database: Database,
  { token, name, password, ip }: { readonly [Field in 'token' | 'name' | 'password' | 'ip']: string },
): Promise<{ readonly user: User } | 'over' | 'too many'> {
  const digest = digestToken(token);
  const passwordHash = await hashChosenPassword(database, { digest, password, ip });
  if (passwordHash === null) return 'too many';
  const user = await database.transaction(async (transaction) => {
    const found = await findInvitation(transaction, digest);
    if (!found) return null;
    const inserted = await insertUser(transaction, {
      id: newId('user'),
      email: found.email,
      name,
      staffRole: null,
      passwordHash,
    });
    if (!inserted) return null;
    const invitation = await consumeInvitation(transaction, digest);
    if (!invitation) throw new ServiceError('not_found', 'The invitation does not work any more.');
    await addMember(transaction, { ...invitation, userId: inserted.id });
    await orderWelcome(transaction, inserted);
    return inserted;
  });
  if (!user) return 'over';
  await uncountLinkAttempt(database, ip);
  return { user };
}

/**
 * Makes an owner's change in one transaction, under the lock of the members.
 *
 * @throws ServiceError `forbidden` for a user who is no longer an owner
 */
export function asOwner<Result>(
  database: Database,
  { accountId, ownerId }: LinkMaker,
  change: (transaction: Database, members: readonly LockedMember[]) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (transaction) => {
    const members = await lockMembers(transaction, accountId);
    const owner = members.find(({ userId }) => userId === ownerId);
    if (owner?.role !== 'owner')
      throw new ServiceError('forbidden', 'Only owners can change the members of the account. Ask an owner.');
    return change(transaction, members);
  });
}

function memberOf(members: readonly LockedMember[], userId: string): LockedMember {
  const member = members.find((one) => one.userId === userId);
  if (!member) throw noSuchMember();
  return member;
}

function isLastOwner(members: readonly LockedMember[], member: LockedMember): boolean {
  return (
    member.role === 'owner' &&
    !members.some(({ userId, role, isDisabled }) => role === 'owner' && !isDisabled && userId !== member.userId)
  );
}

/** Links of a former owner would lead into the account. The database deletes the links of an ended membership. */
async function deleteLinksMadeBy(database: Database, accountId: string, ownerId: string): Promise<void> {
  await deleteOwnerInvitations(database, accountId, ownerId);
  await deleteOwnerLinks(database, { accountId, ownerId });
}

/**
 * Each link sends an e-mail, or reveals whether a user has the address.
 *
 * @param invited the address that gets an e-mail; the invitations of all owners of all accounts count
 */
async function isTooFast(database: Database, { ownerId }: LinkMaker, invited: string | null): Promise<boolean> {
  const window = { windowSeconds: LINKS_WINDOW_SECONDS };
  return !(await claimSignInAttempts(database, [
    { subject: ['links by owner', ownerId], most: MAX_LINKS, ...window },
    ...(invited === null
      ? []
      : [{ subject: ['invitations to address', invited], most: MAX_MAILS, ...window } as const]),
  ]));
}

function noSuchMember(): ServiceError {
  return new ServiceError('not_found', 'The account has no such member. Check the id.');
}
