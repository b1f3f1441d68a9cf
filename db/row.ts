/** How PostgreSQL names and sends what the domain keeps. */
import { type CamelCase, type SnakeCase, toCamelCase, toSnakeCase } from '../domain/field-names.ts';

export { camelCased } from '../domain/field-names.ts';

/**
 * A row of what `Entity` is, its columns in snake case. Amounts and large integers arrive as text, as `Counts` do, which are
 * small enough for a number.
 */
export type RowOf<Entity, Counts extends keyof Entity = never> = {
  readonly [Field in keyof Entity & string as SnakeCase<Field>]: Field extends Counts
    ? string | Extract<Entity[Field], null>
    : AsText<Entity[Field]>;
};

type AsText<Value> = Value extends bigint ? string : Value;

/** Some fields of an entity: those to change, or to look for. */
export type Given<Entity, Field extends keyof Entity> = { readonly [Name in Field]?: Entity[Name] | undefined };

/** The row with its columns named as the domain names them, its amounts and its counts as numbers. */
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

/** The fields named and sent as PostgreSQL does it. Those that are undefined are left out. */
export function columnsOf(fields: object, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [prefix + toSnakeCase(name), typeof value === 'bigint' ? value.toString() : value]),
  );
}
