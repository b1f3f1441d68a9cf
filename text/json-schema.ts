/** JSON Schemas that clients send: their parts, and whether an answer fits them. */
import { isObject, type JsonObject, listOf } from '../domain/json.ts';

const SCHEMA_FIELDS = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'];
const SCHEMA_LIST_FIELDS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMA_MAP_FIELDS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'];

type SchemaMapper = (schema: JsonObject) => JsonObject;

/** A copy of `schema` in which its direct subschemas are mapped; everything else is data and stays. */
export function mapSubschemas(schema: JsonObject, map: SchemaMapper): JsonObject {
  const mapped = (value: unknown): unknown => (isObject(value) ? map(value) : value);
  const entries = Object.entries(schema).map(([field, value]) => {
    if (SCHEMA_FIELDS.includes(field)) return [field, mapped(value)];
    if (SCHEMA_LIST_FIELDS.includes(field) && Array.isArray(value)) return [field, value.map(mapped)];
    if (SCHEMA_MAP_FIELDS.includes(field) && isObject(value)) {
      return [field, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapped(inner)]))];
    }
    return [field, value];
  });
  return Object.fromEntries(entries);
}

/** The bounds that are flags of another bound in older drafts. */
const EXCLUSIVE_BOUNDS = [
  ['exclusiveMinimum', 'minimum'],
  ['exclusiveMaximum', 'maximum'],
] as const;

/** The keywords whose value may be null. */
const NULLABLE = ['const', 'default', 'example'];

/**
 * A schema of any draft, or of OpenAPI, in the current draft of JSON Schema, in which vendors check schemas: tuples, exclusive bounds and
 * required properties had other forms. Lists have items, which some vendors require. Generators write null for a keyword that is not there.
 */
export function inCurrentDraft(schema: JsonObject): JsonObject {
  const keywords = Object.entries(schema).filter(([keyword, value]) => value !== null || NULLABLE.includes(keyword));
  return mapSubschemas(withRequired(withItems(withBounds(Object.fromEntries(keywords)))), inCurrentDraft);
}

/** The list of required properties, which older drafts mark in each property. */
function withRequired({ required, ...schema }: JsonObject): JsonObject {
  const { properties } = schema;
  const marked = isObject(properties)
    ? Object.keys(properties).filter((name) => isObject(properties[name]) && properties[name]['required'] === true)
    : [];
  const names = [...new Set([...listOf(required), ...marked])];
  return Array.isArray(required) || names.length > 0 ? { ...schema, required: names } : schema;
}

function withItems(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...others } = schema;
  if (Array.isArray(items)) return { ...others, prefixItems: items, items: additionalItems ?? {} };
  return items === undefined && [schema['type']].flat().includes('array') ? { ...schema, items: {} } : schema;
}

function withBounds(schema: JsonObject): JsonObject {
  return EXCLUSIVE_BOUNDS.reduce<JsonObject>((bounded, [exclusive, inclusive]) => {
    const { [exclusive]: flag, ...others } = bounded;
    if (typeof flag !== 'boolean') return bounded;
    const { [inclusive]: bound, ...free } = others;
    return flag && bound !== undefined ? { ...free, [exclusive]: bound } : others;
  }, schema);
}

/** The direct subschemas of a schema. */
export function subschemasOf(schema: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  mapSubschemas(schema, (inner) => {
    found.push(inner);
    return inner;
  });
  return found;
}

/** No schema that a model could be given contains longer references. */
const MAXIMUM_REFERENCE_LENGTH = 1_024;

/** The schema to which a reference into the same document (a JSON pointer in a URI, RFC 6901) leads, or null. */
export function resolveReference(root: JsonObject, reference: string): JsonObject | null {
  if (!reference.startsWith('#/') || reference.length > MAXIMUM_REFERENCE_LENGTH) return null;
  let value: unknown = root;
  for (const step of withoutEscapes(reference.slice(2)).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return isObject(value) ? value : null;
}

/** The pointer with the characters that a URI escapes. Some generators escape none. */
function withoutEscapes(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

/** Keywords are checked this often, so that a small schema that refers to itself cannot keep a process busy. */
const MAX_STEPS = 200_000;
const MAX_DEPTH = 100;

/**
 * Why a value does not fit a schema; null if it does. Leaves aside what it does not know, and `pattern` and `format`: a
 * client's expression could take forever. A schema that takes too many steps counts as fitting.
 */
export function violationOf(schema: JsonObject, value: unknown): string | null {
  return new SchemaCheck(schema).violation(schema, value, '', 0);
}

class SchemaCheck {
  readonly #root: JsonObject;
  #stepsLeft = MAX_STEPS;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  violation(schema: unknown, value: unknown, path: string, depth: number): string | null {
    if (schema === false) return `"${path}" must not be there`;
    if (!isObject(schema) || depth > MAX_DEPTH || !this.#mayGoOn(Object.keys(schema).length)) return null;
    const { $ref: reference } = schema;
    const target = typeof reference === 'string' ? resolveReference(this.#root, reference) : null;
    return (
      (target && this.violation(target, value, path, depth + 1)) ??
      this.#ofValue(schema, value, path) ??
      this.#ofAlternatives(schema, value, path, depth) ??
      (Array.isArray(value) ? this.#ofItems(schema, value, path, depth) : null) ??
      (isObject(value) ? this.#ofProperties(schema, value, path, depth) : null)
    );
  }

  #mayGoOn(steps: number): boolean {
    this.#stepsLeft -= 1 + steps;
    return this.#stepsLeft > 0;
  }

  #ofValue(schema: JsonObject, value: unknown, path: string): string | null {
    const types = [schema['type'] ?? []].flat();
    if (types.length > 0 && !types.some((type) => isOfType(type, value)))
      return `"${path}" must be of the type ${types.filter((type) => typeof type === 'string').join(' or ')}`;
    const { enum: values } = schema;
    if (Array.isArray(values) && this.#mayGoOn(values.length) && !values.some((one) => isSame(one, value))) {
      return `"${path}" must be one of the values of its "enum"`;
    }
    if ('const' in schema && !isSame(schema['const'], value)) return `"${path}" must be its "const"`;
    const broken = LIMITS.find(([keyword, isWithin]) => {
      const limit = schema[keyword];
      return typeof limit === 'number' && !isWithin(value, limit);
    });
    return broken === undefined ? null : `"${path}" is beyond its "${broken[0]}"`;
  }

  #ofAlternatives(schema: JsonObject, value: unknown, path: string, depth: number): string | null {
    const fitting = (schemas: unknown): number =>
      listOf(schemas).filter((one) => this.violation(one, value, path, depth + 1) === null).length;
    const { anyOf, oneOf, allOf, not } = schema;
    if (Array.isArray(anyOf) && fitting(anyOf) === 0) return `"${path}" fits none of its "anyOf"`;
    if (Array.isArray(oneOf) && fitting(oneOf) !== 1) return `"${path}" does not fit exactly one of its "oneOf"`;
    if (isObject(not) && fitting([not]) > 0) return `"${path}" fits its "not"`;
    return this.#first(listOf(allOf), (one) => this.violation(one, value, path, depth + 1));
  }

  #ofItems(schema: JsonObject, values: readonly unknown[], path: string, depth: number): string | null {
    const first = listOf(schema['prefixItems']);
    return this.#first([...values.keys()], (index) => {
      const of = index < first.length ? first[index] : schema['items'];
      return this.violation(of, values[index], `${path}[${index}]`, depth + 1);
    });
  }

  #ofProperties(schema: JsonObject, object: JsonObject, path: string, depth: number): string | null {
    const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
    const missing = this.#first(listOf(schema['required']), (name) =>
      typeof name !== 'string' || Object.hasOwn(object, name) ? null : `"${at(name)}" is missing`,
    );
    if (missing !== null) return missing;
    const { properties, patternProperties, additionalProperties } = schema;
    return this.#first(Object.keys(object), (name) => {
      const isKnown = isObject(properties) && Object.hasOwn(properties, name);
      if (isKnown) return this.violation(properties[name], object[name], at(name), depth + 1);
      if (patternProperties !== undefined || additionalProperties === undefined) return null;
      // The name is the model's.
      if (additionalProperties === false) return `"${path}" has a property that its schema does not have`;
      return this.violation(additionalProperties, object[name], at('*'), depth + 1);
    });
  }

  #first<Item>(items: readonly Item[], find: (item: Item) => string | null): string | null {
    for (const item of items) {
      const found = this.#mayGoOn(0) ? find(item) : null;
      if (found !== null) return found;
    }
    return null;
  }
}

/** Whether two values of JSON are the same. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** In code points. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

/** A limit holds for the values of one type, and for all others. */
const LIMITS: readonly (readonly [keyword: string, isWithin: (value: unknown, limit: number) => boolean])[] = [
  ['minimum', (value, limit) => typeof value !== 'number' || value >= limit],
  ['maximum', (value, limit) => typeof value !== 'number' || value <= limit],
  ['exclusiveMinimum', (value, limit) => typeof value !== 'number' || value > limit],
  ['exclusiveMaximum', (value, limit) => typeof value !== 'number' || value < limit],
  ['minLength', (value, limit) => typeof value !== 'string' || lengthOf(value) >= limit],
  ['maxLength', (value, limit) => typeof value !== 'string' || lengthOf(value) <= limit],
  ['minItems', (value, limit) => !Array.isArray(value) || value.length >= limit],
  ['maxItems', (value, limit) => !Array.isArray(value) || value.length <= limit],
];
