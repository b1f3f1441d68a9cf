/** Submitted forms of the console, by the id that the page gave them: see `db/schema/0008-people.sql`. */
import type { Database } from '../database.ts';
import { columnsOf } from '../row.ts';
import { isDue } from './content.ts';

/** How long a secret that is shown once stays readable, so that a reload does not lose it. */
const ANSWER_SHOWN_SECONDS = 15 * 60;

/** A submitted form. */
export interface SentForm {
  /** SHA-256 of the form's address and fields. */
  readonly digest: Buffer;
  /** The user who was signed in; null if nobody was. */
  readonly userId: string | null;
  /** Encrypted with the form's id; null while the outcome is unknown, and once the content that it shows is erased. */
  readonly encryptedAnswer: Buffer | null;
  /** Whether the answer may still show its secret. */
  readonly isRecent: boolean;
}

export async function findSentForm(database: Database, formId: string): Promise<SentForm | null> {
  const { rows } = await database.raw<{ rows: SentForm[] }>(
    /* sql */ `
    SELECT request_digest AS digest, user_id AS "userId",
      CASE WHEN NOT ${isDue('sent_at')} THEN encrypted_answer END AS "encryptedAnswer",
      sent_at > now() - :seconds * interval '1 second' AS "isRecent"
    FROM sent_forms LEFT JOIN accounts AS owner ON owner.id = content_of WHERE form_id = :formId`,
    { seconds: ANSWER_SHOWN_SECONDS, formId },
  );
  return rows[0] ?? null;
}

/** Records a submitted form before it is processed. @returns false if the form was submitted before */
export async function insertSentForm(database: Database, formId: string, digest: Buffer): Promise<boolean> {
  const inserted = await database('sent_forms')
    .insert({ form_id: formId, request_digest: digest })
    .onConflict('form_id')
    .ignore()
    .returning('form_id');
  return inserted.length === 1;
}

/**
 * Records the answer to a form.
 *
 * @param answer `userId` may see the answer, null if nobody was signed in; `contentOf` is the account whose content the
 *   answer shows, null for none
 */
export async function completeSentForm(
  database: Database,
  formId: string,
  answer: { readonly userId: string | null; readonly encryptedAnswer: Buffer; readonly contentOf: string | null },
): Promise<void> {
  await database('sent_forms').where({ form_id: formId }).update(columnsOf(answer));
}

/** Lets a form that changed nothing be submitted again. */
export async function deleteSentForm(database: Database, formId: string): Promise<void> {
  await database('sent_forms').where({ form_id: formId }).delete();
}
