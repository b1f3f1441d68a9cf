/** Names of fields: `likeThis` in code, and `like_this` in operators' files and in tables. */

export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

export type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

export type SnakeCased<Fields> = {
  readonly [Field in keyof Fields as Field extends string ? SnakeCase<Field> : never]: Fields[Field];
};

export type CamelCased<Fields> = {
  readonly [Field in keyof Fields as Field extends string ? CamelCase<Field> : never]: Fields[Field];
};

export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function toCamelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Returns the same values under camel-case names. Names inside the values do not change. */
export function camelCased<Fields extends object>(fields: Fields): CamelCased<Fields>;
export function camelCased(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [toCamelCase(name), value]));
}
