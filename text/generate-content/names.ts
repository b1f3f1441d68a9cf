/** The two spellings of this format's field names. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { fields, type FieldsOptions, type FieldsReader, type Shape } from '../fields.ts';
import { constrained, readObject } from '../read.ts';

/** No field has a longer name. */
const MAXIMUM_NAME_LENGTH = 64;

/** The object with its own field names, but not nested ones, in camelCase: `inline_data` becomes `inlineData`. */
export function camelCased(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [camelCase(name), value]));
}

function camelCase(name: string): string {
  if (name.length > MAXIMUM_NAME_LENGTH) return name;
  // One name starts with `_`.
  return name.replace(/(?<=.)_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * An object of this format, with its field names in camelCase.
 *
 * @throws ServiceError `bad_request` when the value is not an object, or has a field in both spellings
 */
function readFields(value: unknown, path: string): JsonObject {
  const object = readObject(value, path);
  const fields = camelCased(object);
  const isTwice = Object.keys(fields).length < Object.keys(object).length;
  // Upstreams might read the other one of the two.
  if (isTwice) throw badRequest(`${path === '' ? 'the request' : `"${path}"`} has a field in both spellings: send one`);
  return fields;
}

/** An object of this format: see {@link fields}. */
export function nativeFields<Values>(shape: Shape<Values>, options: FieldsOptions = {}): FieldsReader<Values> {
  return fields(shape, { ...options, open: readFields });
}

/**
 * {@link nativeFields} for objects that refuse unknown fields. Their schema mentions snake_case, and names that begin with
 * `_`, in a pattern: generators of clients give `_name` and `name` one name.
 */
export function closedNativeFields<Values>(shape: Shape<Values>, description?: string): FieldsReader<Values> {
  const read = nativeFields(shape, { unknown: 'refuse', ...(description !== undefined && { description }) });
  const names = Object.keys(shape)
    .flatMap((field) => [field, field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)])
    .filter((field) => field.includes('_'));
  const properties = Object.entries(Object(read.schema['properties'])).filter(([field]) => !field.startsWith('_'));
  const bothSpellings = constrained(read, {
    properties: Object.fromEntries(properties),
    patternProperties: { [`^(${names.join('|')})$`]: true },
  });
  return Object.assign(bothSpellings, { shape, forwarded: read.forwarded });
}
