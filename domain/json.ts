/** Parsed JSON values. */

/** An object with values of unknown types. */
// A type, because plain objects are not assignable to an interface, to which other code could add fields.
export type JsonObject = { readonly [field: string]: unknown };

/** Whether a parsed JSON value is an object: neither a list nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Readers of what nobody can correct, such as the answers of upstreams: a value of another type counts as absent.

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Null when the value is not a count. */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
