/** Parsed JSON values. */

/** An object with values of unknown types. */
// A type and not an interface: an interface could gain fields elsewhere, and so would not be assignable from plain objects.
export type JsonObject = { readonly [field: string]: unknown };

/** Whether a parsed JSON value is an object: neither a list nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
