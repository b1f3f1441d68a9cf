/** The two spellings of the format's field names. */
import type { JsonObject } from '../canonical.ts';
import { readObject } from '../read.ts';

/** The object with its own field names, not those of what it holds, in camelCase: `inline_data` becomes `inlineData`. */
export function camelCased(object: JsonObject): JsonObject {
  const entries = Object.entries(object).map(([name, value]) => [
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(entries);
}

/**
 * An object of the format, its field names in camelCase.
 *
 * @throws ServiceError `bad_request` when the value is no object
 */
export function readFields(value: unknown, path: string): JsonObject {
  return camelCased(readObject(value, path));
}
