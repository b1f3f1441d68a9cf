/**
 * Keeps a form from overwriting what somebody else saved. A form that shows stored fields also carries a mark of each
 * field. The form is refused if a field has changed since.
 */
import { createHash } from 'node:crypto';
import type { Database } from '../db/database.ts';
import { cutText } from '../domain/cut-text.ts';
import { fieldLabel, FormError } from './form-problem.ts';
import type { Visit } from './page.ts';
import { type Texts, wordFor } from './texts/texts.ts';

/** The stored fields that a form shows, by the API's names. */
export type StoredFields = Readonly<Record<string, string | number | null | undefined>>;

/** The name of the form's field with the marks. */
export const SHOWN_FIELD = 'shown';

const MARK_BYTES = 9;
const MAX_VALUE_LENGTH = 200;

/** A field that the form shows has changed since. The message has the stored values of the changed fields. */
export class ChangedSinceError extends FormError {
  /** The marks of the stored fields. The reader sees these fields in the message, so the next form carries their marks. */
  readonly marks: string;

  constructor(changed: StoredFields, stored: StoredFields, texts: Texts) {
    const values = Object.entries(changed).map(([name, value]) => {
      const messages = wordFor(name, cutText(String(value ?? ''), MAX_VALUE_LENGTH), texts);
      return texts.common.nowIs(fieldLabel(name, texts), messages || '–');
    });
    super(texts.common.changedSince(values.join('; ')), { code: 'idempotency_conflict' });
    this.marks = marksOf(stored);
  }
}

/** Marks fields for a form: a name and a short digest of the value for each. */
export function marksOf(stored: StoredFields): string {
  return Object.entries(stored)
    .map((entry) => markOf(entry))
    .join(' ');
}

function markOf([name, value]: readonly [name: string, value: StoredFields[string]]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(value ?? null))
    .digest();
  return `${name}:${digest.subarray(0, MARK_BYTES).toString('base64url')}`;
}

/**
 * Saves a form in a transaction, if the form was shown with the fields that are still stored. A form without marks was
 * shown with none of them.
 *
 * @param find locks the object until the transaction ends, and reads it
 * @throws ChangedSinceError
 */
export function saveIfUnchanged<Stored, Saved>(
  { form, texts }: Visit,
  database: Database,
  {
    find,
    fieldsOf,
    save,
  }: {
    readonly find: (transaction: Database) => Promise<Stored>;
    readonly fieldsOf: (stored: Stored) => StoredFields;
    readonly save: (transaction: Database, stored: Stored) => Promise<Saved>;
  },
): Promise<Saved> {
  return database.transaction(async (transaction) => {
    const stored = await find(transaction);
    const fields = fieldsOf(stored);
    const shown = form.text(SHOWN_FIELD).split(' ');
    const changed = Object.entries(fields).filter((entry) => !shown.includes(markOf(entry)));
    if (changed.length > 0) throw new ChangedSinceError(Object.fromEntries(changed), fields, texts);
    return save(transaction, stored);
  });
}
