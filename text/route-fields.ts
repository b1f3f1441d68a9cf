/** The fields that a route removes from requests, sets or renames, because its upstream refuses or needs them. */
import { isObject, type JsonObject, objectOf } from '../domain/json.ts';
import { mapField, mapItems } from './map-json.ts';
import type { UpstreamHalf, WireFormat } from './wire-format.ts';

/** The upstream's names of fields; points lead into objects: `generationConfig.topK`. */
export interface RouteFields {
  /** Points also lead into the objects of lists: `messages.reasoning_content`. */
  readonly drop?: readonly string[];
  readonly set?: JsonObject;
  readonly rename?: Readonly<Record<string, string>>;
}

interface AdaptedBody {
  readonly body: JsonObject;
  /** The fields of the body that have no effect: those that were removed, or that got another value. */
  readonly unused: readonly string[];
}

/** Applies the fields of a route to the body for its upstream: removes, then renames, then sets. */
export function adaptBody(sent: JsonObject, { drop = [], set = {}, rename = {} }: RouteFields): AdaptedBody {
  const unused: string[] = [];
  let body = sent;
  for (const path of drop) {
    const rest = withoutField(body, path.split('.'));
    if (rest !== body) unused.push(path);
    body = rest;
  }
  for (const [from, to] of Object.entries(rename)) {
    const value = valueAt(body, from);
    if (value !== undefined) body = withValue(withValue(body, from, undefined), to, value);
  }
  for (const [path, value] of Object.entries(set)) {
    const previous = valueAt(body, path);
    if (previous !== undefined && JSON.stringify(previous) !== JSON.stringify(value)) unused.push(path);
    body = withValue(body, path, value);
  }
  return { body, unused };
}

/** The client's names of an upstream's fields. A field that either format does not have for clients keeps its name. */
export function namesForClient(
  client: WireFormat,
  upstream: UpstreamHalf | WireFormat,
  paths: readonly string[],
): readonly string[] {
  if (paths.length === 0) return paths;
  const settings = 'client' in upstream ? Object.entries(upstream.client.settingNames) : [];
  const known: Readonly<Record<string, string | undefined>> = client.client.settingNames;
  return paths.map((path) => {
    const [setting = ''] = settings.find(([, name]) => name === path) ?? [];
    return known[setting] ?? path;
  });
}

function valueAt(body: JsonObject, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), body);
}

/** A copy without the field at a path, in each object of lists on the way; the same object if there is none. */
function withoutField(holder: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  if (rest.length > 0) {
    const inside = (value: JsonObject): JsonObject => withoutField(value, rest);
    return mapItems(mapField(holder, name, inside), name, inside);
  }
  const { [name]: dropped, ...others } = holder;
  return dropped === undefined ? holder : others;
}

/** A copy with the value at a path, or without the field if the value is undefined. */
function withValue(body: JsonObject, path: string, value: unknown): JsonObject {
  const [name = '', ...rest] = path.split('.');
  if (rest.length > 0) {
    const inner = body[name];
    return { ...body, [name]: withValue(objectOf(inner), rest.join('.'), value) };
  }
  const { [name]: _previous, ...others } = body;
  return value === undefined ? others : { ...others, [name]: value };
}
