/**
 * Field tables: what a format does with each field that its clients may send. Nothing is lost in silence: a field is
 * mapped, accepted without effect, or refused, and the table is where to look.
 */
import { badRequest } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import { join } from './read.ts';

/** `mapped`: the parser reads it. `ignored`: accepted without effect. `refused`: 400 with the sentence given. */
export type FieldPolicy = 'mapped' | 'ignored' | { readonly refused: string };

export type FieldTable = Readonly<Record<string, FieldPolicy>>;

/** A refusal that says what is not supported and, where there is one, what to do instead. */
export function refused(advice: string): FieldPolicy {
  return { refused: advice };
}

/**
 * Checks each field of `object` against its table. A field that is null counts as not sent.
 *
 * @param unknown what happens to a field that the table does not name
 * @throws ServiceError `bad_request` naming the first field that is refused
 */
export function checkFields(object: JsonObject, path: string, table: FieldTable, unknown: 'refuse' | 'ignore'): void {
  for (const [field, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue;
    const policy = Object.hasOwn(table, field) ? table[field] : undefined;
    if (policy === undefined && unknown === 'refuse') throw badRequest(`unknown field: ${join(path, field)}`);
    if (typeof policy === 'object') throw badRequest(`"${join(path, field)}" is not supported: ${policy.refused}`);
  }
}
