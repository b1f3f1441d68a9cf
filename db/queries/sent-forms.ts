/** Forms of the console that were sent, each by the id that its page gave it: see `db/migrations/0008-people.ts`. */
import type { Database } from '../database.ts';

/** A secret that is shown once stays readable for so long, so that a reload does not lose it. */
export const ANSWER_SHOWN_SECONDS = 15 * 60;

/** A form that was sent. */
export interface SentForm {
  /** SHA-256 of its address and its fields. */
  readonly digest: Buffer;
  /** Who was signed in; null for strangers. */
  readonly userId: string | null;
  /** Encrypted with the form's id; null while the outcome is unknown. */
  readonly sealedAnswer: Buffer | null;
  /** Whether what the answer shows once may still be shown. */
  readonly isRecent: boolean;
}

export async function findSentForm(database: Database, formId: string): Promise<SentForm | null> {
  const { rows } = await database.raw<{ rows: SentForm[] }>(
    /* sql */ `
    SELECT request_digest AS digest, user_id AS "userId", sealed_answer AS "sealedAnswer",
      sent_at > now() - ? * interval '1 second' AS "isRecent"
    FROM sent_forms WHERE form_id = ?`,
    [ANSWER_SHOWN_SECONDS, formId],
  );
  return rows[0] ?? null;
}

/** Records that a form was sent, before it is acted on. @returns false when it was sent before */
export async function insertSentForm(database: Database, formId: string, digest: Buffer): Promise<boolean> {
  const inserted = await database('sent_forms')
    .insert({ form_id: formId, request_digest: digest })
    .onConflict('form_id')
    .ignore()
    .returning('form_id');
  return inserted.length === 1;
}

/** Records the answer to a form. @param userId who may see what the answer shows; null for strangers */
export async function completeSentForm(
  database: Database,
  formId: string,
  { userId, sealedAnswer }: { readonly userId: string | null; readonly sealedAnswer: Buffer },
): Promise<void> {
  await database('sent_forms').where({ form_id: formId }).update({ user_id: userId, sealed_answer: sealedAnswer });
}

/** Lets a form be sent again that changed nothing. */
export async function deleteSentForm(database: Database, formId: string): Promise<void> {
  await database('sent_forms').where({ form_id: formId }).delete();
}
