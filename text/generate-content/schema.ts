/**
 * JSON Schema, and this format's dialect of it. Clients may describe a tool in either (`parameters`); upstreams get
 * JSON Schema (`parametersJsonSchema`), because the dialect has neither `additionalProperties` nor unions of types.
 */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { compact } from '../read.ts';
import { camelCased } from './names.ts';

const SCHEMA_FIELDS = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'];
const SCHEMA_LIST_FIELDS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SCHEMA_MAP_FIELDS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** The dialect writes these as strings, because they have 64 bits. */
const COUNT_FIELDS = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];

type SchemaMapper = (schema: JsonObject) => JsonObject;

/** A copy of `schema` in which its direct subschemas are mapped; everything else is data and stays. */
function mapSubschemas(schema: JsonObject, map: SchemaMapper): JsonObject {
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

/** A schema in the dialect as JSON Schema; JSON Schema stays as it is. */
export function jsonSchemaOf(schema: JsonObject): JsonObject {
  const { nullable, ...fields } = mapSubschemas(camelCased(schema), jsonSchemaOf);
  const counts = COUNT_FIELDS.flatMap((field) => {
    const count = fields[field];
    return typeof count === 'string' && /^\d+$/.test(count) ? [[field, Number(count)]] : [];
  });
  const typed = compact({ ...fields, ...Object.fromEntries(counts), type: typeOf(fields['type']) });
  return nullable === true ? orNull(typed) : typed;
}

/** Types are in upper case in the dialect. */
function typeOf(type: unknown): unknown {
  if (typeof type !== 'string') return type;
  return type === 'TYPE_UNSPECIFIED' ? undefined : type.toLowerCase();
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values, anyOf } = schema;
  return compact({
    ...schema,
    type: typeof type === 'string' ? [type, 'null'] : type,
    enum: Array.isArray(values) ? [...values, null] : values,
    anyOf: Array.isArray(anyOf) ? [...anyOf, { type: 'null' }] : anyOf,
  });
}

/**
 * By how many characters the schemas of a request may still grow. Prevents a small schema whose definitions refer to
 * each other many times from filling the memory.
 */
export interface Growth {
  characters: number;
}

export function permittedGrowth(): Growth {
  return { characters: 512 * 1024 };
}

const MAXIMUM_REFERENCE_DEPTH = 32;

/**
 * The schema with references replaced by the definitions they refer to, because these upstreams refuse most references.
 * A reference that is recursive, or that leads outside the schema, stays, and then so do the definitions.
 *
 * @throws ServiceError `bad_request` when the schema grows too much
 */
export function withoutReferences(root: JsonObject, growth: Growth): JsonObject {
  const { $schema: _, $defs, definitions, ...schema } = root;
  let hasReferences = false;

  const replace = (part: JsonObject, open: readonly string[]): JsonObject => {
    const { $ref: reference, ...rest } = part;
    if (typeof reference !== 'string') return mapSubschemas(part, (inner) => replace(inner, open));
    const target = open.includes(reference) ? null : lookUp(root, reference);
    if (target === null) {
      hasReferences = true;
      return compact({ $ref: reference, description: part['description'] });
    }
    growth.characters -= sizeOf(target, growth.characters);
    if (growth.characters <= 0 || open.length === MAXIMUM_REFERENCE_DEPTH) {
      throw badRequest('a JSON Schema in the request is too large once its references are replaced; simplify it');
    }
    return { ...replace(target, [...open, reference]), ...mapSubschemas(rest, (inner) => replace(inner, open)) };
  };

  const replaced = replace(schema, []);
  return hasReferences ? compact({ ...replaced, $defs, definitions }) : replaced;
}

/** The approximate length of a value's text; counting stops at `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let size = 2;
  for (const [name, inner] of Object.entries(value)) {
    size += name.length + 4 + sizeOf(inner, most - size);
    if (size >= most) return most;
  }
  return size;
}

/** No schema that a model could be given contains longer references. */
const MAXIMUM_REFERENCE_LENGTH = 1_024;

/** The schema to which a reference into the same document (a JSON pointer, RFC 6901) leads, or null. */
function lookUp(root: JsonObject, reference: string): JsonObject | null {
  if (!reference.startsWith('#/') || reference.length > MAXIMUM_REFERENCE_LENGTH) return null;
  let value: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return isObject(value) ? value : null;
}
