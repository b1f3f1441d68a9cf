/**
 * A resource is one definition of its fields. Its JSON, its schema in the API description and its CSV columns are
 * derived from the definition, so they cannot disagree.
 */
import { type Component, component, type Fields as SchemaFields, type JsonSchema, object } from '../json-schema.ts';
import type { IdKind } from '../ids.ts';
import { boolean, type Cell, constant, type Field, id } from './field.ts';

export type Fields<Row> = Readonly<Record<string, Field<Row>>>;

/** A column of an export in CSV. */
export type Column<Row> = readonly [name: string, value: (row: Row) => Cell];

/** Rows as JSON and as CSV. */
export interface Presentation<Row> {
  readonly present: (row: Row) => Readonly<Record<string, unknown>>;
  readonly columns: readonly Column<Row>[];
}

export interface Resource<Row> extends Presentation<Row> {
  readonly fields: Fields<Row>;
  /** The schema of each field. */
  readonly schemas: SchemaFields;
  readonly schema: JsonSchema;
}

/** A resource whose schema has a name in the API description. */
export function resource<Row>(
  name: string,
  fields: Fields<Row>,
  description?: string,
): Resource<Row> & { readonly schema: Component } {
  const described = nested(fields, description);
  return { ...described, schema: component(name, described.schema) };
}

/** An object within a resource. */
export function nested<Row>(fields: Fields<Row>, description?: string): Resource<Row> {
  const entries = Object.entries(fields);
  const schemas: SchemaFields = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  return {
    fields,
    schemas,
    schema: object(schemas, description),
    present: (row) => {
      const presented: Record<string, unknown> = {};
      for (const [name, { json }] of entries) {
        const value = json(row);
        if (value !== undefined) presented[name] = value;
      }
      return presented;
    },
    columns: entries.flatMap(([name, { columns }]) =>
      columns.map(([suffix, cell]): Column<Row> => [`${name}${suffix}`, cell]),
    ),
  };
}

/** The response to the deletion of a resource. @param object the value of the resource's field `object` */
export function deletionOf(kind: IdKind, object: string): Resource<{ readonly id: string }> {
  return nested({ id: id(kind)('id'), object: constant(object), deleted: boolean(() => true) });
}
