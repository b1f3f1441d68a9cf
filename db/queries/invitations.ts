/** Invitations to accounts, and their e-mails: see `db/schema/0008-people.sql`. */
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
  /** The status of the e-mail; null if the owner passes the link on instead. */
  readonly mail: 'ordered' | 'sent' | 'failed' | null;
}

export interface NewInvitation extends Pick<Invitation, 'accountId' | 'email' | 'role'> {
  readonly digest: Buffer;
  /** The owner who invites. */
  readonly invitedBy: string;
  readonly lifetimeSeconds: number;
  /** Whether Genway sends the link by e-mail. */
  readonly isMailed: boolean;
}

/** An e-mail to send, with an invitation. */
export interface InvitationMail extends Pick<Invitation, 'accountId' | 'accountName' | 'email'> {
  /** The number of attempts to send the e-mail, this one included. */
  readonly attempts: number;
}

type InvitationRow = RowOf<Invitation>;

/** Creates an invitation. It replaces an earlier invitation of the address to the same account. */
export async function saveInvitation(
  database: Database,
  { lifetimeSeconds, isMailed, ...invitation }: NewInvitation,
): Promise<void> {
  await database('account_invitations')
    .insert({
      ...columnsOf(invitation),
      created_at: database.fn.now(),
      expires_at: secondsFromNow(database, lifetimeSeconds),
      mail: isMailed ? 'ordered' : null,
      mail_attempts: 0,
      mail_due_at: isMailed ? database.fn.now() : null,
    })
    .onConflict(['account_id', 'email'])
    .merge();
}

/**
 * Claims a due e-mail, and gives its invitation a new link that replaces the earlier one. Unless
 * {@link endInvitationMail} is called, the e-mail is due again after a minute, then after increasing delays, even if
 * the process has died.
 *
 * @param link the digest of the link's token, and the lifetime of the link
 */
export async function claimInvitationMail(
  database: Database,
  { digest, lifetimeSeconds }: Pick<NewInvitation, 'digest' | 'lifetimeSeconds'>,
): Promise<InvitationMail | null> {
  const { rows } = await database.raw<{ rows: InvitationMail[] }>(
    /* sql */ `
    UPDATE account_invitations AS invitation SET digest = :digest,
      expires_at = now() + :lifetimeSeconds * interval '1 second',
      mail_attempts = mail_attempts + 1,
      mail_due_at = now() + least(interval '1 minute' * power(2, mail_attempts), interval '4 hours')
    FROM accounts AS account
    WHERE account.id = invitation.account_id AND (invitation.account_id, invitation.email) = (
      SELECT account_id, email FROM account_invitations WHERE mail_due_at <= now() AND expires_at > now()
      ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING invitation.account_id AS "accountId", account.name AS "accountName", invitation.email,
      invitation.mail_attempts AS attempts`,
    { digest, lifetimeSeconds },
  );
  return rows[0] ?? null;
}

/** Records that an e-mail was sent or given up, unless the invitation has a new link meanwhile. */
export async function endInvitationMail(database: Database, digest: Buffer, mail: 'sent' | 'failed'): Promise<void> {
  await database('account_invitations').where({ digest }).update({ mail, mail_due_at: null });
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
      'mail',
    );
}
