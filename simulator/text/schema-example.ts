/** Small values that match a JSON schema: the arguments of a simulated model's calls. */
import { isObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { numberOf } from './fields.ts';

type Schema = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 12;
const MAX_VALUES = 2000;
const MAX_LENGTH = 1000;

/** The smallest value that matches the schema: required properties only. It ignores patterns. */
export function exampleOf(schema: unknown): unknown {
  return new ExampleWriter(objectOf(schema)).valueOf(schema, 0);
}

const STRINGS_BY_FORMAT: Readonly<Record<string, string>> = {
  date: '2026-01-02',
  time: '03:04:05Z',
  'date-time': '2026-01-02T03:04:05Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  hostname: 'example.com',
};

class ExampleWriter {
  readonly #root: Schema;
  #valuesLeft = MAX_VALUES;

  constructor(root: Schema) {
    this.#root = root;
  }

  valueOf(schema: unknown, depth: number): unknown {
    this.#valuesLeft -= 1;
    if (depth > MAX_DEPTH || this.#valuesLeft < 0) return null;
    const resolved = this.#resolve(objectOf(schema), depth);
    if ('const' in resolved) return resolved['const'];
    const [first] = listOf(resolved['enum']);
    if (first !== undefined) return first;
    return this.#byType(resolved, depth);
  }

  /** Replaces references, and each choice between schemas by its first one. */
  #resolve(schema: Schema, depth: number): Schema {
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const chosen = [this.#referenced($ref), listOf(anyOf)[0], listOf(oneOf)[0], ...listOf(allOf)].filter(isObject);
    if (chosen.length === 0 || depth > MAX_DEPTH) return schema;
    const merged = chosen.map((part) => this.#resolve(part, depth + 1)).reduce(merge, rest);
    return merged;
  }

  #referenced(reference: unknown): unknown {
    const path = stringOf(reference);
    if (!path.startsWith('#')) return undefined;
    const names = path.split('/').slice(1);
    return names.reduce<unknown>(
      (value, name) => objectOf(value)[name.replaceAll('~1', '/').replaceAll('~0', '~')],
      this.#root,
    );
  }

  #byType(schema: Schema, depth: number): unknown {
    switch (typeOf(schema)) {
      case 'object':
        return this.#objectOf(schema, depth);
      case 'array': {
        const length = Math.min(numberOf(schema['minItems']) ?? 0, MAX_LENGTH);
        return Array.from({ length }, (_, index) =>
          this.valueOf(listOf(schema['prefixItems'])[index] ?? schema['items'], depth + 1),
        );
      }
      case 'integer':
        return Math.ceil(leastNumber(schema));
      case 'number':
        return leastNumber(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return shortString(schema);
    }
  }

  #objectOf(schema: Schema, depth: number): object {
    const properties = objectOf(schema['properties']);
    const names = new Set(listOf(schema['required']).filter((name) => typeof name === 'string'));
    return Object.fromEntries([...names].map((name) => [name, this.valueOf(properties[name], depth + 1)]));
  }
}

/** The intersection of two schemas: their properties and required names together. */
function merge(one: Schema, other: Schema): Schema {
  return {
    ...one,
    ...other,
    properties: { ...objectOf(one['properties']), ...objectOf(other['properties']) },
    required: [...listOf(one['required']), ...listOf(other['required'])],
  };
}

/** Some formats write the types in capitals. */
function typeOf(schema: Schema): string {
  const { type } = schema;
  const name = stringOf(Array.isArray(type) ? type[0] : type).toLowerCase();
  if (name !== '') return name;
  if (isObject(schema['properties']) && Object.keys(schema['properties']).length > 0) return 'object';
  return schema['items'] === undefined ? 'string' : 'array';
}

function leastNumber(schema: Schema): number {
  const aboveExclusive = numberOf(schema['exclusiveMinimum']);
  const least = numberOf(schema['minimum']) ?? (aboveExclusive === undefined ? undefined : aboveExclusive + 1);
  const step = numberOf(schema['multipleOf']) ?? 0;
  const value = least ?? Math.min(1, numberOf(schema['maximum']) ?? 1);
  return step > 0 ? Math.ceil(value / step) * step : value;
}

function shortString(schema: Schema): string {
  const known = STRINGS_BY_FORMAT[stringOf(schema['format'])];
  if (known !== undefined) return known;
  const minLength = Math.min(numberOf(schema['minLength']) ?? 0, MAX_LENGTH);
  return 'example'.slice(0, numberOf(schema['maxLength']) ?? MAX_LENGTH).padEnd(minLength, 'x');
}
