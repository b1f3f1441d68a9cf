/**
 * Readers of unknown JSON. Each takes a value and its path in the client's terms, and either returns the value with its
 * type or throws 400 `bad_request` that names the path: `"messages[0].content" must be a string`. Each carries a JSON
 * Schema of the values that it accepts, which the API description prints.
 */
import { badRequest } from '../domain/errors.ts';
import { isObject, type JsonObject } from '../domain/json.ts';
import { ANY_OBJECT, component, type JsonSchema, nullable } from '../domain/json-schema.ts';

export interface Reader<T> {
  /** @throws ServiceError `bad_request` that names what is missing, malformed or not supported */
  (value: unknown, path: string): T;
  readonly schema: JsonSchema;
  /** Whether the field may be absent. */
  readonly isOptional?: true;
}

export function reader<T>(schema: JsonSchema, read: (value: unknown, path: string) => T): Reader<T> {
  return Object.assign((value: unknown, path: string) => read(value, path), { schema });
}

/** Adds a description to a reader's schema. */
export function described<T>(read: Reader<T>, description: string): Reader<T> {
  return constrained(read, { description });
}

/** Adds constraints to a reader's schema. */
export function constrained<T>(read: Reader<T>, constraints: JsonSchema): Reader<T> {
  return reader({ ...read.schema, ...constraints }, read);
}

/** Gives a reader's schema a name of its own in the API description. */
export function named<T>(name: string, read: Reader<T>): Reader<T> {
  return reader(component(name, withNamedAlternatives(name, read.schema)), read);
}

/** Names the alternatives that a constant tells apart: generators lose some that have no name. */
function withNamedAlternatives(name: string, schema: JsonSchema): JsonSchema {
  if (!Array.isArray(schema['oneOf'])) return schema;
  const alternatives = schema['oneOf'].map((alternative: JsonSchema) => {
    const constant = Object.values(Object(alternative['properties'])).find((property) => 'const' in Object(property));
    return constant === undefined ? alternative : component(`${name}.${Object(constant).const}`, alternative);
  });
  return { ...schema, oneOf: alternatives };
}

/** Converts the result of a reader. */
export function mapped<T, Result>(read: Reader<T>, make: (read: T, path: string) => Result): Reader<Result> {
  return reader(read.schema, (value, path) => make(read(value, path), path));
}

/** Undefined when the value is absent or null: SDKs send null for fields that are not set. */
export function optional<T>(read: Reader<T>): Reader<T | undefined> {
  const readIfSet = (value: unknown, path: string): T | undefined => (isSet(value) ? read(value, path) : undefined);
  return Object.assign(reader(nullable(read.schema), readIfSet), { isOptional: true } as const);
}

export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The path of a field or item inside `path`; the empty path is the body itself. */
export function join(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function mistyped(value: unknown, path: string, expected: string): Error {
  if (path === '') return badRequest(`the request body must be ${expected}`);
  if (!isSet(value)) return badRequest(`"${path}" is required`);
  return badRequest(`"${path}" must be ${expected}`);
}

/** Any value. */
export const anything: Reader<unknown> = reader({}, (value) => value);

export const readObject: Reader<JsonObject> = reader(ANY_OBJECT, (value, path) => {
  if (!isObject(value)) throw mistyped(value, path, 'an object');
  return value;
});

export const readString: Reader<string> = reader({ type: 'string' }, (value, path) => {
  if (typeof value !== 'string') throw mistyped(value, path, 'a string');
  return value;
});

/** A string with at least one character. */
export const readText: Reader<string> = reader({ type: 'string', minLength: 1 }, (value, path) => {
  const text = readString(value, path);
  if (text === '') throw badRequest(`"${path}" must not be empty`);
  return text;
});

const MAXIMUM_ID_LENGTH = 16_000;

/**
 * An identifier. Its length is limited because sets and maps do not hash much longer strings: they compare them with
 * every other one of the same length.
 */
export const readId: Reader<string> = reader({ type: 'string' }, (value, path) => {
  const id = readString(value, path);
  if (id.length > MAXIMUM_ID_LENGTH) throw badRequest(`"${path}" must have at most ${MAXIMUM_ID_LENGTH} characters`);
  return id;
});

/** An identifier with at least one character. */
export const readName: Reader<string> = reader(readText.schema, (value, path) => readText(readId(value, path), path));

export const readBoolean: Reader<boolean> = reader({ type: 'boolean' }, (value, path) => {
  if (typeof value !== 'boolean') throw mistyped(value, path, 'a boolean');
  return value;
});

/** A finite number within the bounds, inclusive. */
export function numberBetween(minimum: number, maximum: number): Reader<number> {
  return reader({ type: 'number', minimum, maximum }, (value, path) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw mistyped(value, path, 'a number');
    return inBounds(value, path, minimum, maximum);
  });
}

/** A whole number within the bounds, inclusive; a null bound allows every number that is exact. */
export function integerBetween(minimum: number | null, maximum: number | null): Reader<number> {
  const bounds = { ...(minimum !== null && { minimum }), ...(maximum !== null && { maximum }) };
  return reader({ type: 'integer', ...bounds }, (value, path) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw mistyped(value, path, 'an integer');
    return inBounds(value, path, minimum, maximum);
  });
}

function inBounds(value: number, path: string, minimum: number | null, maximum: number | null): number {
  if (value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity)) return value;
  throw badRequest(`"${path}" must be ${rangeInWords(minimum, maximum)}`);
}

function rangeInWords(minimum: number | null, maximum: number | null): string {
  if (maximum === null) return `at least ${minimum}`;
  return minimum === null ? `at most ${maximum}` : `between ${minimum} and ${maximum}`;
}

/** One of these words. */
export function oneOf<const Word extends string>(choices: readonly Word[]): Reader<Word> {
  const choice = choices.length === 1 ? { const: choices[0] } : { enum: choices };
  return reader({ type: 'string', ...choice }, (value, path) => {
    const word = choices.find((known) => known === value);
    if (word === undefined) throw notOneOf(value, path, choices);
    return word;
  });
}

export function notOneOf(value: unknown, path: string, choices: readonly string[]): Error {
  return badRequest(isSet(value) ? `"${path}" must be one of: [${choices.join(' ')}]` : `"${path}" is required`);
}

/** An array whose items are read by `readItem`. */
export function arrayOf<T>(readItem: Reader<T>): Reader<T[]> {
  return reader({ type: 'array', items: readItem.schema }, (value, path) => readArray(value, path, readItem));
}

/** {@link arrayOf} for items whose reader depends on earlier ones. */
export function readArray<T>(value: unknown, path: string, readItem: (value: unknown, path: string) => T): T[] {
  if (!Array.isArray(value)) throw mistyped(value, path, 'an array');
  return value.map((item: unknown, index) => readItem(item, join(path, index)));
}

/** A string read by one reader, and anything else by the other. */
export function textOr<T>(readText: Reader<T>, readOther: Reader<T>): Reader<T> {
  return reader({ oneOf: [readText.schema, readOther.schema] }, (value, path) =>
    typeof value === 'string' ? readText(value, path) : readOther(value, path),
  );
}

/** A string or an array of parts, which most formats take for content. An empty string yields no part. */
export function contentOf<Part>(
  readPart: Reader<Part>,
): Reader<(Part | { readonly type: 'text'; readonly text: string })[]> {
  const schema = { oneOf: [readString.schema, { type: 'array', items: readPart.schema }] };
  return reader(schema, (value, path) => {
    if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }];
    if (Array.isArray(value)) return readArray(value, path, readPart);
    if (!isSet(value)) throw badRequest(`"${path}" is required`);
    throw badRequest(`"${path}" must be a string or an array`);
  });
}

const MAXIMUM_STOP_SEQUENCES = 64;
const MAXIMUM_STOP_SEQUENCE_LENGTH = 65_536;

/** Stop sequences, without empty ones. */
export const readStopSequences: Reader<readonly string[]> = mapped(arrayOf(readString), (given, path) => {
  const sequences = given.filter((sequence) => sequence !== '');
  if (sequences.length > MAXIMUM_STOP_SEQUENCES) {
    throw badRequest(`"${path}" accepts at most ${MAXIMUM_STOP_SEQUENCES} items`);
  }
  if (sequences.some(({ length }) => length > MAXIMUM_STOP_SEQUENCE_LENGTH)) {
    throw badRequest(`"${path}" accepts items of at most ${MAXIMUM_STOP_SEQUENCE_LENGTH} characters`);
  }
  return sequences;
});

/** Stop sequences, or a single one. */
export const readStops: Reader<readonly string[]> = textOr(
  reader(readString.schema, (value, path) => readStopSequences([value], path)),
  readStopSequences,
);

/** A copy without undefined fields. */
export function compact<T extends object>(value: T): T {
  // A fraction of the time of `Object.fromEntries` and `filter`, several times in every request.
  const set: Partial<T> = {};
  for (const name in value) if (value[name] !== undefined) set[name] = value[name];
  // Only optional fields can be undefined, so the rest is still a T.
  return set as T;
}
