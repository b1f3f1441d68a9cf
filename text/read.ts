/**
 * Guards that read unknown JSON. Each takes a value and its path in the client's terms, and either returns the value
 * with its type or throws 400 `bad_request` that names the path: `"messages[0].content" must be a string`.
 */
import { badRequest } from '../domain/errors.ts';
import { isObject, type JsonObject } from '../domain/json.ts';

export type Reader<T> = (value: unknown, path: string) => T;

/** The path of a field or item inside `path`; the empty path is the body itself. */
export function join(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function mistyped(value: unknown, path: string, expected: string): Error {
  if (path === '') return badRequest(`the request body must be ${expected}`);
  if (value === undefined || value === null) return badRequest(`"${path}" is required`);
  return badRequest(`"${path}" must be ${expected}`);
}

export function readObject(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw mistyped(value, path, 'an object');
  return value;
}

export function readString(value: unknown, path: string): string {
  if (typeof value !== 'string') throw mistyped(value, path, 'a string');
  return value;
}

/** A string with at least one character. */
export function readText(value: unknown, path: string): string {
  const text = readString(value, path);
  if (text === '') throw badRequest(`"${path}" must not be empty`);
  return text;
}

const MAXIMUM_ID_LENGTH = 16_000;

/**
 * An identifier. Its length is limited because sets and maps do not hash much longer strings: they compare them with
 * every other one of the same length.
 */
export function readId(value: unknown, path: string): string {
  const id = readString(value, path);
  if (id.length > MAXIMUM_ID_LENGTH) throw badRequest(`"${path}" must have at most ${MAXIMUM_ID_LENGTH} characters`);
  return id;
}

/** An identifier with at least one character. */
export function readName(value: unknown, path: string): string {
  return readText(readId(value, path), path);
}

export function readBoolean(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw mistyped(value, path, 'a boolean');
  return value;
}

/** A finite number within the bounds, inclusive. */
export function numberBetween(minimum: number, maximum: number): Reader<number> {
  return (value, path) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw mistyped(value, path, 'a number');
    return inBounds(value, path, minimum, maximum);
  };
}

/** A whole number within the bounds, inclusive. */
export function integerBetween(minimum: number, maximum: number): Reader<number> {
  return (value, path) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw mistyped(value, path, 'an integer');
    return inBounds(value, path, minimum, maximum);
  };
}

function inBounds(value: number, path: string, minimum: number, maximum: number): number {
  if (value >= minimum && value <= maximum) return value;
  throw badRequest(`"${path}" must be between ${minimum} and ${maximum}`);
}

/** One of the words. */
export function oneOf<const Word extends string>(words: readonly Word[]): Reader<Word> {
  return (value, path) => {
    const word = words.find((known) => known === value);
    if (word !== undefined) return word;
    if (value === undefined || value === null) throw badRequest(`"${path}" is required`);
    throw badRequest(`"${path}" must be one of: [${words.join(' ')}]`);
  };
}

/** An array whose items are read by `readItem`. */
export function readArray<T>(value: unknown, path: string, readItem: Reader<T>): T[] {
  if (!Array.isArray(value)) throw mistyped(value, path, 'an array');
  return value.map((item: unknown, index) => readItem(item, join(path, index)));
}

/** Undefined when the field is absent or null: SDKs send null for fields that are not set. */
export function optional<T>(value: unknown, path: string, read: Reader<T>): T | undefined {
  return value === undefined || value === null ? undefined : read(value, path);
}

const MAXIMUM_STOP_SEQUENCES = 64;
const MAXIMUM_STOP_SEQUENCE_LENGTH = 65_536;

/** Stop sequences, without empty ones. */
export function readStopSequences(value: unknown, path: string): readonly string[] {
  const sequences = readArray(value, path, readString).filter((sequence) => sequence !== '');
  if (sequences.length > MAXIMUM_STOP_SEQUENCES) {
    throw badRequest(`"${path}" accepts at most ${MAXIMUM_STOP_SEQUENCES} items`);
  }
  if (sequences.some(({ length }) => length > MAXIMUM_STOP_SEQUENCE_LENGTH)) {
    throw badRequest(`"${path}" accepts items of at most ${MAXIMUM_STOP_SEQUENCE_LENGTH} characters`);
  }
  return sequences;
}

/** A copy without undefined fields. */
export function compact<T extends object>(value: T): T {
  // Only optional fields can be undefined, so the rest is still a T.
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
