/** Applies the fields and headers of a route to a submission, because its upstream refuses, needs or renames them. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { RouteChanges } from '../../domain/media-route.ts';
import { adaptBody } from '../../text/route-fields.ts';
import type { FormPart } from './form.ts';
import type { VendorCall } from './vendor-http.ts';

/** Drops fields, then renames, then sets; the same changes apply to what identifies the submission in a list. */
export function withRouteChanges(call: VendorCall, changes: RouteChanges = {}): VendorCall {
  const { identity, body, headers } = call;
  return {
    ...call,
    ...(body && {
      body: 'json' in body ? { json: changed(body.json, changes) } : { form: changedForm(body.form, changes) },
    }),
    ...(identity !== undefined && { identity: changed(identity, changes) }),
    ...(changes.headers && { headers: { ...headers, ...lowerCased(changes.headers) } }),
  };
}

function changed(document: unknown, changes: RouteChanges): unknown {
  return isObject(document) ? adaptBody(document, changes).body : document;
}

/** A form has no nested fields. */
function changedForm(
  form: readonly FormPart[],
  { drop = [], rename = {}, set = {} }: RouteChanges,
): readonly FormPart[] {
  const kept = form.filter(({ name }) => !drop.includes(name) && !Object.hasOwn(set, name));
  const renamed = kept.map((part) => ({
    ...part,
    name: (Object.hasOwn(rename, part.name) && rename[part.name]) || part.name,
  }));
  return [...renamed, ...Object.entries(set).map(([name, value]) => ({ name, value: textOf(value) }))];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function lowerCased(headers: Readonly<Record<string, string>>): JsonObject & Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
