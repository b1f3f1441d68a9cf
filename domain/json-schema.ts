/** JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1), shared by request readers and the API description. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export const NULL: JsonSchema = { type: 'null' };

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

/** A reference to a schema under `components.schemas`. */
export function ref(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
