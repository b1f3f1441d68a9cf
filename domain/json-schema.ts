/** JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1), shared by request readers and the API description. */
import { ID_PREFIX, type IdKind } from './ids.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Null beside other schemas. */
const NULL: JsonSchema = { type: 'null' };

/** Null alone. Generators of clients fail at `type: null` without other types. */
export const ONLY_NULL: JsonSchema = { enum: [null] };

/** Any object. Without `additionalProperties`, generated TypeScript accepts only objects without fields. */
export const ANY_OBJECT: JsonSchema = { type: 'object', additionalProperties: true };

/** The schema, or null. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type, description, oneOf, ...others } = schema;
  if ('$ref' in schema) return { oneOf: [schema, NULL] };
  if (Array.isArray(oneOf))
    return { ...others, ...(description !== undefined && { description }), oneOf: [...oneOf, NULL] };
  if (type === undefined) return acceptsAnything(schema) ? schema : { oneOf: [schema, NULL] };
  // Generators make a type from an enum of texts, but not from an enum of texts and null.
  if ('enum' in schema || 'const' in schema) {
    return { ...(description !== undefined && { description }), oneOf: [{ type, ...others }, NULL] };
  }
  return { ...schema, type: [...new Set([type, 'null'].flat())] };
}

function acceptsAnything(schema: JsonSchema): boolean {
  return Object.keys(schema).every((keyword) => keyword === 'description');
}

/** A reference to a schema under `components.schemas`. */
export function ref(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** A field that may be absent. */
export interface OptionalField {
  readonly optional: JsonSchema;
}

export type Fields = Readonly<Record<string, JsonSchema | OptionalField>>;

/** A schema for each field of `Shape`, optional exactly where the field is optional. The compiler checks this. */
export type FieldsOf<Shape> = {
  readonly [Field in keyof Shape]-?: Partial<Pick<Shape, Field>> extends Pick<Shape, Field>
    ? OptionalField
    : JsonSchema;
};

export function optional(schema: JsonSchema): OptionalField {
  return { optional: schema };
}

/** An object with these fields. It is open: clients must accept fields that are not described. */
export function object(fields: Fields, description?: string): JsonSchema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => !isOptional(field)).map(([name]) => name);
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: Object.fromEntries(entries.map(([name, field]) => [name, isOptional(field) ? field.optional : field])),
    ...(required.length > 0 && { required }),
  };
}

/** The fields of `Shape`, the type that the code returns; a missing or extra field does not compile. */
export function fieldsOf<Shape>(fields: FieldsOf<Shape>): FieldsOf<Shape> & Fields {
  return fields;
}

/** An object with exactly the fields of `Shape`: see {@link fieldsOf}. */
export function objectOf<Shape>(fields: FieldsOf<Shape>, description?: string): JsonSchema {
  return object(fieldsOf<Shape>(fields), description);
}

function isOptional(field: JsonSchema | OptionalField): field is OptionalField {
  return 'optional' in field;
}

const DEFINITION = Symbol('definition');

/** A named schema. */
export type Component = {
  readonly $ref: string;
  readonly [DEFINITION]: { readonly name: string; readonly schema: JsonSchema };
};

/**
 * Names a schema. Returns a reference that carries the schema along, so that the API description can collect the
 * schemas it meets under `components.schemas`.
 */
export function component(name: string, schema: JsonSchema): Component {
  return { ...ref(name), [DEFINITION]: { name, schema } };
}

/** The name and the schema that a reference carries; null for any other value. */
export function componentOf(value: object): Component[typeof DEFINITION] | null {
  return isComponent(value) ? value[DEFINITION] : null;
}

function isComponent(value: object): value is Component {
  return DEFINITION in value;
}

export function arrayOf(items: JsonSchema, description?: string): JsonSchema {
  return { type: 'array', ...(description !== undefined && { description }), items };
}

export function text(description?: string, constraints: JsonSchema = {}): JsonSchema {
  return { type: 'string', ...(description !== undefined && { description }), ...constraints };
}

export function oneOfTexts(values: readonly string[], description?: string): JsonSchema {
  return text(description, { enum: values });
}

/** An id of a kind. */
export function idOf(kind: IdKind, description?: string): JsonSchema {
  return text(description, { pattern: `^${ID_PREFIX[kind]}[0-9a-z]{32}$` });
}

/** A constant string. */
export function exactly(value: string): JsonSchema {
  return { type: 'string', const: value };
}

export function integer(description?: string, constraints: JsonSchema = {}): JsonSchema {
  return { type: 'integer', ...(description !== undefined && { description }), ...constraints };
}

export function number(description?: string, constraints: JsonSchema = {}): JsonSchema {
  return { type: 'number', ...(description !== undefined && { description }), ...constraints };
}

export function boolean(description?: string): JsonSchema {
  return { type: 'boolean', ...(description !== undefined && { description }) };
}

/** Adds the unit after the first clause of a description; the next clause says when the value is null. */
const inUnit = (description: string, unit: string): string => description.replace(/(?=[.;] |$)/, `, in ${unit}`);

export const unixSeconds = (description: string): JsonSchema =>
  integer(inUnit(description, 'Unix seconds'), { minimum: 0 });
export const usd = (description: string): JsonSchema => number(inUnit(description, 'USD'));
export const isoTime = (description: string): JsonSchema => text(description, { format: 'date-time' });
export const exactUsd = (description: string): JsonSchema =>
  text(inUnit(description, 'USD, exact'), { pattern: String.raw`^-?\d+(\.\d{1,12})?$` });
