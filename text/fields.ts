/**
 * Field tables: what a format does with each field that its clients may send. Nothing is lost silently: each field is
 * mapped, accepted without effect, or refused, and the table says which.
 */
import { badRequest } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import { join } from './read.ts';

/** `mapped`: the parser reads it. `ignored`: accepted without effect. `refused`: 400, with this advice. */
export type FieldPolicy = 'mapped' | 'ignored' | { readonly refused: string };

export type FieldTable = Readonly<Record<string, FieldPolicy>>;

/** Refuses a field, saying why or what to do instead. */
export function refused(advice: string): FieldPolicy {
  return { refused: advice };
}

/**
 * Checks each field of `object` against the table. A field that is null counts as not sent.
 *
 * @param unknown what to do with fields that are not in the table
 * @throws ServiceError `bad_request` that names the first refused field
 */
export function checkFields(object: JsonObject, path: string, table: FieldTable, unknown: 'refuse' | 'ignore'): void {
  for (const [field, value] of Object.entries(object)) {
    if (value === null || value === undefined) continue;
    const policy = Object.hasOwn(table, field) ? table[field] : undefined;
    if (policy === undefined && unknown === 'refuse') throw badRequest(`unknown field: ${join(path, field)}`);
    if (typeof policy === 'object') throw badRequest(`"${join(path, field)}" is not supported: ${policy.refused}`);
  }
}
