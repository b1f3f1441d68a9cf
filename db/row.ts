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
