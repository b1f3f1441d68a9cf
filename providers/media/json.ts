/** Reads untrusted documents. */
import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { VendorCost } from '../../domain/media-route.ts';

/** Looks up a name that an upstream sent; undefined for inherited names such as `constructor`, too. */
export function valueIn<Value>(table: Readonly<Record<string, Value>>, name: unknown): Value | undefined {
  const isName = typeof name === 'string' || typeof name === 'number';
  return isName && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A charge that an upstream reports; none for zero and for anything that is not a plain amount. */
export function costIn(amount: unknown, unit: string): { readonly cost?: VendorCost } {
  const decimal = typeof amount === 'number' && amount > 0 ? String(Number(amount.toFixed(6))) : '';
  return PLAIN_AMOUNT.test(decimal) ? { cost: { amount: decimal, unit } } : {};
}

/** When a job ended, from Unix seconds, Unix milliseconds or ISO 8601; none for any other value. */
export function endIn(time: unknown): { readonly endedAt?: Date } {
  const number = typeof time === 'string' ? Date.parse(time) : Number(time);
  const ms = number < MIN_MILLISECONDS ? number * 1000 : number;
  return ms > 0 && ms < LAST_DATE_MS ? { endedAt: new Date(ms) } : {};
}

/** Smaller numbers are seconds: as milliseconds they would be before 1974. */
const MIN_MILLISECONDS = 1e11;
/** ECMA-262, "Time Values and Time Range". */
const LAST_DATE_MS = 8.64e15;

/** Decimals short enough to be multiplied by any price. */
export const PLAIN_AMOUNT = /^\d{1,15}(\.\d{1,12})?$/;

/** Merges the operator's `params` into a body: merges objects, and replaces all other values. */
export function mergeParams(body: JsonObject, params: JsonObject): JsonObject {
  const joined: Record<string, unknown> = { ...body };
  for (const [name, value] of Object.entries(params)) {
    const own = joined[name];
    joined[name] = isObject(own) && isObject(value) ? mergeParams(own, value) : value;
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
