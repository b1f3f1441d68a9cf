/** How PostgreSQL names and sends what the domain keeps. */

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

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

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Some fields of an entity: those to change, or to look for. */
export type Given<Entity, Field extends keyof Entity> = { readonly [Name in Field]?: Entity[Name] | undefined };

/** The row with its columns named as the domain names them. Amounts and large integers are still text. */
export function camelCased<Row extends object>(
  row: Row,
): { readonly [Column in keyof Row & string as CamelCase<Column>]: Row[Column] };
export function camelCased(row: object): object {
  return readRow(row, {});
}

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
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()),
      read(column, value),
    ]),
  );
}

/** The fields named and sent as PostgreSQL does it. Those that are undefined are left out. */
export function columnsOf(fields: object, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        prefix + name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        typeof value === 'bigint' ? value.toString() : value,
      ]),
  );
}
