/** Parsed JSON values. */

/** An object with values of unknown types. */
// A type, because plain objects are not assignable to an interface, to which other code could add fields.
export type JsonObject = { readonly [field: string]: unknown };

/** Whether a parsed JSON value is an object: neither a list nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
