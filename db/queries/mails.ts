/** The outbox of e-mails: see `db/schema/0008-people.sql`. */
import { newId } from '../../domain/ids.ts';
import { type AccountNotice, type MailKind, type MailOutcome, NOTICE_READERS, NOTICES } from '../../domain/mail.ts';
import { rolesWith } from '../../domain/roles.ts';
import type { Database } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

/** Texts for an e-mail, such as the name of a key; never a link or a secret. */
export type MailFacts = Readonly<Record<string, string>>;

export interface NewMail {
  readonly kind: MailKind;
  /** In lower case; possibly of no user. */
  readonly address: string;
  readonly userId?: string;
  readonly accountId?: string;
  /** A reference is ordered once for ever; with null, one e-mail of the kind to the address waits at a time. */
  readonly reference: string | null;
  readonly facts?: MailFacts;
}

export interface Mail {
  readonly id: string;
  readonly kind: MailKind;
  readonly address: string;
  readonly userId: string | null;
  readonly accountId: string | null;
  readonly facts: MailFacts;
  /** The number of attempts to send the e-mail. */
  readonly attempts: number;
  readonly outcome: MailOutcome;
  /** The last answer of a mail server that did not accept the e-mail. */
  readonly failure: string | null;
  readonly sentAt: Date | null;
  readonly createdAt: Date;
}

const COLUMNS = 'id, kind, address, user_id, account_id, facts, attempts, outcome, failure, sent_at, created_at';

/** Orders an e-mail, unless it is ordered already. Call this in the transaction of the cause. */
export async function orderMail(database: Database, mail: NewMail): Promise<void> {
  await database('mails')
    .insert(columnsOf({ id: newId('mail'), ...mail }))
    .onConflict()
    .ignore();
}

/**
 * Orders e-mails to the members of an account. Call this in the transaction of the cause.
 *
 * @param mail its `reference` is that of the cause; each member's e-mail has one of its own
 */
export async function orderNotice(
  database: Database,
  mail: Pick<NewMail, 'facts'> & {
    readonly kind: AccountNotice;
    readonly accountId: string;
    readonly reference: string;
  },
): Promise<void> {
  const { kind, accountId, reference, facts = {} } = mail;
  const due = {
    causes: 'SELECT :accountId AS account_id, :reference AS reference, CAST(:facts AS jsonb) AS facts',
    bindings: { accountId, reference, facts: JSON.stringify(facts) },
  };
  await orderNotices(database, kind, { ...due, limit: MAX_READERS });
}

/** More members than owners can invite. */
const MAX_READERS = 1_000;

/**
 * Orders the e-mails that causes in the database call for, each for every member who may read about it, once.
 *
 * @param causes a statement that returns `account_id`, `reference` and `facts`
 * @param limit the most e-mails
 * @returns the number of ordered e-mails; fewer than `limit` if none is left
 */
export async function orderNotices(
  database: Database,
  kind: AccountNotice,
  {
    causes,
    bindings = {},
    limit,
  }: { readonly causes: string; readonly bindings?: Readonly<Record<string, string>>; readonly limit: number },
): Promise<number> {
  const { rows } = await database.raw<{ rows: Receiver[] }>(
    /* sql */ `
    SELECT users.email AS address, users.id AS user_id, cause.account_id,
      cause.reference || ':' || users.id AS reference, cause.facts
    FROM (${causes}) AS cause
    JOIN account_members AS member ON member.account_id = cause.account_id AND member.role = ANY (:roles)
    JOIN users ON users.id = member.user_id AND users.disabled_at IS NULL
    WHERE NOT EXISTS (SELECT FROM mails WHERE mails.reference = cause.reference || ':' || users.id)
    LIMIT :limit`,
    { ...bindings, roles: rolesWith(NOTICE_READERS[kind]), limit },
  );
  if (rows.length === 0) return 0;
  await database('mails')
    .insert(rows.map((row) => ({ ...row, id: newId('mail'), kind })))
    .onConflict()
    .ignore();
  return rows.length;
}

interface Receiver {
  readonly address: string;
  readonly user_id: string;
  readonly account_id: string;
  readonly reference: string;
  readonly facts: MailFacts;
}

/**
 * Claims a due e-mail: notices after all others, since many are due when a month is closed. Unless {@link endMail} is
 * called, the e-mail is due again after a minute, then after increasing delays, even if the process has died.
 */
export async function claimMail(database: Database): Promise<Mail | null> {
  const { rows } = await database.raw<{ rows: RowOf<Mail>[] }>(
    /* sql */ `
    UPDATE mails SET attempts = attempts + 1,
      next_attempt_at = now() + least(interval '1 minute' * power(2, attempts), interval '4 hours')
    WHERE id = (
      SELECT id FROM mails WHERE outcome = 'waiting' AND next_attempt_at <= now()
      ORDER BY kind = ANY (:notices), next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING ${COLUMNS}`,
    { notices: [...NOTICES] },
  );
  return rows[0] ? camelCased(rows[0]) : null;
}

/** Records the result of an attempt. @param outcome `waiting` for another attempt */
export async function endMail(
  database: Database,
  id: string,
  { outcome, failure }: Pick<Mail, 'outcome' | 'failure'>,
): Promise<void> {
  await database('mails')
    .where({ id })
    .update({ outcome, failure, sent_at: outcome === 'sent' ? database.fn.now() : null });
}

/** The latest e-mails to a user, newest first. */
export async function listMailsTo(
  database: Database,
  { userId, address, limit }: { readonly userId: string; readonly address: string; readonly limit: number },
): Promise<readonly Mail[]> {
  const { rows } = await database.raw<{ rows: RowOf<Mail>[] }>(
    `SELECT ${COLUMNS} FROM mails WHERE user_id = :userId OR address = :address ORDER BY created_at DESC, id LIMIT :limit`,
    { userId, address, limit },
  );
  return rows.map(camelCased);
}
