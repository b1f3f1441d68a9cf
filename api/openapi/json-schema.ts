/** JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1) as data, and what makes it short to write. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A field that may be absent. */
export interface OptionalField {
  readonly optional: JsonSchema;
}

export type Fields = Readonly<Record<string, JsonSchema | OptionalField>>;

/** A schema for each field of `Shape`, optional exactly where the field is: the compiler compares the two. */
export type FieldsOf<Shape> = {
  readonly [Field in keyof Shape]-?: Partial<Pick<Shape, Field>> extends Pick<Shape, Field>
    ? OptionalField
    : JsonSchema;
};

export function optional(schema: JsonSchema): OptionalField {
  return { optional: schema };
}

/** An object with these fields. It is open: clients have to bear fields that are not described. */
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

/** The fields of `Shape`, which is what the code that writes such objects gives back; one more or less does not compile. */
export function fieldsOf<Shape>(fields: FieldsOf<Shape>): FieldsOf<Shape> & Fields {
  return fields;
}

function isOptional(field: JsonSchema | OptionalField): field is OptionalField {
  return 'optional' in field;
}

/** A schema under `components.schemas`. */
export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export function arrayOf(items: JsonSchema, description?: string): JsonSchema {
  return { type: 'array', ...(description !== undefined && { description }), items };
}

/** The schema, or null. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type, enum: values, const: value, oneOf, $ref: reference, ...others } = schema;
  if (reference !== undefined) return { oneOf: [schema, NULL] };
  if (Array.isArray(oneOf)) return { ...others, oneOf: [...oneOf, NULL] };
  if (type === undefined) return takesAnything(schema) ? schema : { oneOf: [schema, NULL] };
  return {
    type: [type, 'null'].flat(),
    ...others,
    ...(Array.isArray(values) && { enum: [...values, null] }),
    ...(value !== undefined && { enum: [value, null] }),
  };
}

function takesAnything(schema: JsonSchema): boolean {
  return Object.keys(schema).every((keyword) => keyword === 'description');
}

export const NULL: JsonSchema = { type: 'null' };

export function text(description?: string, constraints: JsonSchema = {}): JsonSchema {
  return { type: 'string', ...(description !== undefined && { description }), ...constraints };
}

export function oneOfTexts(values: readonly string[], description?: string): JsonSchema {
  return text(description, { enum: values });
}

/** A text that is always the same. */
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

export const unixSeconds = (description: string): JsonSchema => integer(`${description}; Unix seconds`, { minimum: 0 });

export const usd = (description: string): JsonSchema => number(`${description}; USD`);
