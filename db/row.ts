/** Converts between rows of PostgreSQL and entities of the domain. */
import { type CamelCase, type SnakeCase, toCamelCase, toSnakeCase } from '../domain/field-names.ts';

export { camelCased } from '../domain/field-names.ts';

/**
 * A row of an `Entity`, with columns in snake case. Amounts and large integers arrive as text. So do `Counts`, which
 * are small enough for a number.
 */
export type RowOf<Entity, Counts extends keyof Entity = never> = {
  readonly [Field in keyof Entity & string as SnakeCase<Field>]: Field extends Counts
    ? string | Extract<Entity[Field], null>
    : AsText<Entity[Field]>;
};

type AsText<Value> = Value extends bigint ? string : Value;

/** Some fields of an entity, to change or to search. */
export type OptionalFields<Entity, Field extends keyof Entity> = {
  readonly [Name in Field]?: Entity[Name] | undefined;
};

/** Converts a row: columns to camel case, `amounts` to bigint and `counts` to numbers. */
export function readRow<
  Row extends object,
  Amount extends keyof Row & string = never,
  Count extends keyof Row & string = never,
>(
  row: Row,
  { amounts, counts }: { readonly amounts?: readonly Amount[]; readonly counts?: readonly Count[] },
): {
  readonly [Column in keyof Row & string as CamelCase<Column>]: Column extends Amount
    ? bigint | Extract<Row[Column], null>
    : Column extends Count
      ? number | Extract<Row[Column], null>
      : Row[Column];
};
export function readRow(
  row: object,
  { amounts = [], counts = [] }: { readonly amounts?: readonly string[]; readonly counts?: readonly string[] },
): object {
  const read = (column: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    if (amounts.includes(column)) return BigInt(value);
    return counts.includes(column) ? Number(value) : value;
  };
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [toCamelCase(column), read(column, value)]));
}

/** Converts fields to columns: names to snake case, and bigint to text. Omits undefined fields. */
export function columnsOf(fields: object, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [prefix + toSnakeCase(name), typeof value === 'bigint' ? value.toString() : value]),
  );
}
