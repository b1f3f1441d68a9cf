/** The outbox of e-mails with a link: see `db/schema/0008-people.sql`. */
import type { Database } from '../database.ts';

export interface LinkMail {
  readonly email: string;
  /** The number of attempts to send the e-mail, this one included. */
  readonly attempts: number;
}

/** Orders an e-mail with a link, unless one waits already. @param email in lower case; possibly of no user */
export async function orderLinkMail(database: Database, email: string): Promise<void> {
  await database('link_mails').insert({ email }).onConflict('email').ignore();
}

/**
 * Claims a due e-mail. Unless the e-mail is removed, it is due again after a minute, then after increasing delays, even
 * if the process has died.
 */
export async function claimLinkMail(database: Database): Promise<LinkMail | null> {
  const { rows } = await database.raw<{ rows: LinkMail[] }>(/* sql */ `
    UPDATE link_mails SET attempts = attempts + 1,
      next_attempt_at = now() + least(interval '1 minute' * power(2, attempts), interval '4 hours')
    WHERE email = (
      SELECT email FROM link_mails WHERE next_attempt_at <= now()
      ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING email, attempts`);
  return rows[0] ?? null;
}

/** Removes an e-mail that was sent or given up. */
export async function removeLinkMail(database: Database, email: string): Promise<void> {
  await database('link_mails').where({ email }).delete();
}
