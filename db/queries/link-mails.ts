/** The outbox of e-mails that bring people a link: see `db/migrations/0008-people.ts`. */
import type { Database } from '../database.ts';

export interface LinkMail {
  readonly email: string;
  /** How often it was tried before, and this time. */
  readonly attempts: number;
}

/** Orders an e-mail with a link; one that waits already is enough. @param email in lower case; nobody need have it */
export async function orderLinkMail(database: Database, email: string): Promise<void> {
  await database('link_mails').insert({ email }).onConflict('email').ignore();
}

/**
 * Takes up an e-mail that is due. Unless it is removed, it is due again after a minute, and later after longer: also when
 * the process that took it up has died.
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

/** After it was sent, or given up. */
export async function removeLinkMail(database: Database, email: string): Promise<void> {
  await database('link_mails').where({ email }).delete();
}
