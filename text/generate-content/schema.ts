/**
 * JSON Schema, and this format's dialect of it. Clients may describe a tool in either (`parameters`); upstreams get
 * JSON Schema (`parametersJsonSchema`), because the dialect has neither `additionalProperties` nor unions of types.
 */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { resolveReference, mapSubschemas } from '../json-schema.ts';
import { compact } from '../read.ts';
import { camelCased } from './names.ts';

/** The dialect writes these as strings, because they have 64 bits. */
const COUNT_FIELDS = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];

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
export interface SchemaSizeBudget {
  characters: number;
}

export function createSchemaSizeBudget(): SchemaSizeBudget {
  return { characters: 512 * 1024 };
}

const MAXIMUM_REFERENCE_DEPTH = 32;

/**
 * The schema with references replaced by the definitions they refer to, because these upstreams refuse most references.
 * A reference that is recursive, or that leads outside the schema, stays, and then so do the definitions.
 *
 * @throws ServiceError `bad_request` when the schema grows too much
 */
export function withoutReferences(root: JsonObject, budget: SchemaSizeBudget): JsonObject {
  const { $schema: _, $defs, definitions, ...schema } = root;
  let hasReferences = false;

  const replace = (part: JsonObject, open: readonly string[]): JsonObject => {
    const { $ref: reference, ...rest } = part;
    if (typeof reference !== 'string') return mapSubschemas(part, (inner) => replace(inner, open));
    const target = open.includes(reference) ? null : resolveReference(root, reference);
    if (target === null) {
      hasReferences = true;
      return compact({ $ref: reference, description: part['description'] });
    }
    budget.characters -= sizeOf(target, budget.characters);
    if (budget.characters <= 0 || open.length === MAXIMUM_REFERENCE_DEPTH) {
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
