/** Reads untrusted documents. */
import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../domain/json.ts';

/** The value as an object; empty if it is anything else. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as a list; empty if it is anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Merges the operator's fields into a body; objects are merged, everything else is replaced. */
export function withParams(body: JsonObject, params: JsonObject): JsonObject {
  const joined: Record<string, unknown> = { ...body };
  for (const [name, value] of Object.entries(params)) {
    const own = joined[name];
    joined[name] = isObject(own) && isObject(value) ? withParams(own, value) : value;
  }
  return joined;
}

/** A digest of a document that does not depend on the order of fields; undefined fields are ignored. */
export function fingerprintOf(document: unknown): string {
  return createHash('sha256').update(canonical(document)).digest('base64url');
}

function canonical(value: unknown): string {
  if (value instanceof Uint8Array) return createHash('sha256').update(value).digest('base64url');
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
