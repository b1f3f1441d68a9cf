/** Invitations to accounts: see migration 0029. */
import type { MemberRole } from '../../domain/member-role.ts';
import type { Database } from '../database.ts';
import type { RowOf } from '../row.ts';

export interface Invitation {
  readonly accountId: string;
  readonly accountName: string;
  /** In lower case. */
  readonly email: string;
  readonly role: MemberRole;
  readonly expiresAt: Date;
}

export interface NewInvitation {
  readonly digest: Buffer;
  readonly accountId: string;
  readonly email: string;
  readonly role: MemberRole;
  /** The owner who makes it. */
  readonly invitedBy: string;
  readonly lifetimeSeconds: number;
}

type InvitationRow = Omit<RowOf<Invitation>, 'account_name'> & { readonly name: string };

/** Makes an invitation. An earlier one to the same account for that address ends. */
export async function putInvitation(database: Database, invitation: NewInvitation): Promise<void> {
  await database('account_invitations')
    .insert({
      account_id: invitation.accountId,
      email: invitation.email,
      role: invitation.role,
      digest: invitation.digest,
      invited_by: invitation.invitedBy,
      created_at: database.fn.now(),
      expires_at: database.raw(`now() + ? * interval '1 second'`, [invitation.lifetimeSeconds]),
    })
    .onConflict(['account_id', 'email'])
    .merge();
}

/** The invitations to an account that may still be accepted, by address. */
export async function listInvitations(database: Database, accountId: string): Promise<readonly Invitation[]> {
  const rows = await open(database).where({ account_id: accountId }).orderBy('account_invitations.email');
  return rows.map(toInvitation);
}

/** @returns null when there is none, or it has expired */
export async function findInvitation(database: Database, digest: Buffer): Promise<Invitation | null> {
  const row = await open(database).where({ digest }).first();
  return row ? toInvitation(row) : null;
}

/** Uses an invitation up. @returns it, as {@link findInvitation} does */
export async function takeInvitation(database: Database, digest: Buffer): Promise<Invitation | null> {
  const invitation = await findInvitation(database, digest);
  const taken = await database('account_invitations').where({ digest }).delete();
  return taken === 1 ? invitation : null;
}

/** @returns whether there was one */
export async function deleteInvitation(database: Database, accountId: string, email: string): Promise<boolean> {
  return (await database('account_invitations').where({ account_id: accountId, email }).delete()) === 1;
}

/** Ends the invitations that somebody made to an account. */
export async function deleteInvitationsBy(database: Database, accountId: string, userId: string): Promise<void> {
  await database('account_invitations').where({ account_id: accountId, invited_by: userId }).delete();
}

function open(database: Database) {
  return database<InvitationRow>('account_invitations')
    .join('accounts', 'accounts.id', 'account_invitations.account_id')
    .whereRaw('expires_at > now()')
    .select('account_id', 'accounts.name', 'account_invitations.email', 'role', 'expires_at');
}

function toInvitation(row: InvitationRow): Invitation {
  return {
    accountId: row.account_id,
    accountName: row.name,
    email: row.email,
    role: row.role,
    expiresAt: row.expires_at,
  };
}
