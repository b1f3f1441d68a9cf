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

/** The row with its columns named as the domain names them. Amounts and large integers are still text. */
export function camelCased<Row extends object>(
  row: Row,
): { readonly [Column in keyof Row & string as CamelCase<Column>]: Row[Column] };
export function camelCased(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
