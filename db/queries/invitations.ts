/** Invitations to accounts, and their e-mails: see `db/schema/0008-people.sql`. */
import type { MailOutcome } from '../../domain/mail.ts';
import type { MemberRole } from '../../domain/roles.ts';
import { type Database, secondsFromNow } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

export interface Invitation {
  readonly accountId: string;
  readonly accountName: string;
  /** In lower case. */
  readonly email: string;
  readonly role: MemberRole;
  readonly expiresAt: Date;
  /** The outcome of the e-mail; null if the owner passes the link on instead. */
  readonly mail: MailOutcome | null;
}

export interface NewInvitation extends Pick<Invitation, 'accountId' | 'email' | 'role'> {
  readonly digest: Buffer;
  /** The owner who invites. */
  readonly invitedBy: string;
  readonly lifetimeSeconds: number;
}

type InvitationRow = RowOf<Invitation>;

/** Creates an invitation. It replaces an earlier invitation of the address to the same account. */
export async function saveInvitation(
  database: Database,
  { lifetimeSeconds, ...invitation }: NewInvitation,
): Promise<void> {
  await database('account_invitations')
    .insert({
      ...columnsOf(invitation),
      created_at: database.fn.now(),
      expires_at: secondsFromNow(database, lifetimeSeconds),
    })
    .onConflict(['account_id', 'email'])
    .merge();
}

/**
 * Gives an open invitation a new link, which replaces the earlier one.
 *
 * @param mailId the e-mail with the link, which was ordered with the invitation
 * @returns the name of the account; null if the invitation of the e-mail was replaced or is not open
 */
export async function renewInvitation(
  database: Database,
  { mailId, digest, lifetimeSeconds }: { readonly mailId: string } & Pick<NewInvitation, 'digest' | 'lifetimeSeconds'>,
): Promise<string | null> {
  const { rows } = await database.raw<{ rows: { name: string }[] }>(
    /* sql */ `
    UPDATE account_invitations AS invitation
    SET digest = :digest, expires_at = now() + :lifetimeSeconds * interval '1 second'
    FROM mails JOIN accounts ON accounts.id = mails.account_id
    WHERE mails.id = :mailId AND invitation.account_id = mails.account_id AND invitation.email = mails.address
      AND invitation.expires_at > now() AND invitation.created_at <= mails.created_at
    RETURNING accounts.name`,
    { mailId, digest, lifetimeSeconds },
  );
  return rows[0]?.name ?? null;
}

/** Lists the open invitations to an account, ordered by address. */
export async function listInvitations(database: Database, accountId: string): Promise<readonly Invitation[]> {
  const rows = await open(database).where({ account_id: accountId }).orderBy('account_invitations.email');
  return rows.map(camelCased);
}

/** @returns null if there is no invitation, or it has expired */
export async function findInvitation(database: Database, digest: Buffer): Promise<Invitation | null> {
  const row = await open(database).where({ digest }).first();
  return row ? camelCased(row) : null;
}

/** Deletes an accepted invitation. @returns the same as {@link findInvitation} */
export async function consumeInvitation(database: Database, digest: Buffer): Promise<Invitation | null> {
  const invitation = await findInvitation(database, digest);
  const taken = await database('account_invitations').where({ digest }).delete();
  return taken === 1 ? invitation : null;
}

/** @returns whether there was an invitation */
export async function deleteInvitation(database: Database, accountId: string, email: string): Promise<boolean> {
  return (await database('account_invitations').where({ account_id: accountId, email }).delete()) === 1;
}

/** Deletes the invitations to an account that a user made. */
export async function deleteOwnerInvitations(database: Database, accountId: string, userId: string): Promise<void> {
  await database('account_invitations').where({ account_id: accountId, invited_by: userId }).delete();
}

function open(database: Database) {
  return database<InvitationRow>('account_invitations')
    .join('accounts', 'accounts.id', 'account_invitations.account_id')
    .whereRaw('expires_at > now()')
    .select<InvitationRow[]>(
      'account_id',
      'accounts.name as account_name',
      'account_invitations.email',
      'role',
      'expires_at',
      database.raw(/* sql */ `(
        SELECT outcome FROM mails
        WHERE mails.account_id = account_invitations.account_id AND address = account_invitations.email
          AND kind = 'membership' AND mails.created_at >= account_invitations.created_at
        ORDER BY mails.created_at DESC LIMIT 1) AS mail`),
    );
}
