/**
 * Objects by their fields. Nothing is lost silently: each field of a request is read, accepted without effect, or refused,
 * and the shape of the object says which.
 */
import type { Compatibility } from '../domain/compatibility.ts';
import { badRequest, ServiceError } from '../domain/errors.ts';
import { isObject, type JsonObject } from '../domain/json.ts';
import { type JsonSchema, ONLY_NULL } from '../domain/json-schema.ts';
import type { UnusedFields } from './canonical.ts';
import { isSet, join, mapped, notOneOf, readObject, reader, type Reader } from './read.ts';

/** The reader of each field that a client may send. */
export type Shape<Values> = { readonly [Name in keyof Values]: Reader<Values[Name]> };

/** The types of JSON values, as schemas name them. */
export type JsonType = 'string' | 'number' | 'boolean' | 'object' | 'array';

/** A field whose value Genway does not use: it has no effect, or upstreams of the same format get it as it is. */
export interface UnusedField extends Reader<undefined> {
  readonly use: 'none' | 'same-format';
  /** Null if any value is accepted. */
  readonly type: JsonType | null;
  /** Whether the field is true by default, so that `false` asks for something. */
  readonly isOnByDefault?: boolean;
}

function unusedField(use: UnusedField['use'], description: string, type: JsonType | null = null): UnusedField {
  // Generators of clients require the items of lists.
  const items = type === 'array' ? { items: {} } : {};
  const schema = type === null ? { description } : { type: [type, 'null'], ...items, description };
  const check = reader(schema, (value, path): undefined => {
    if (type !== null && isSet(value) && typeOf(value) !== type) {
      throw badRequest(`"${path}" must be ${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`);
    }
  });
  return Object.assign(check, { isOptional: true, use, type } as const);
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

/** A field that is accepted without effect. */
export const ignored = unusedField('none', 'Accepted without effect');

/** A field of this type that is accepted without effect. */
export function ignoredAs(type: JsonType): UnusedField {
  return unusedField('none', 'Accepted without effect', type);
}

const FORWARDED = 'Passed to models with this format. No effect on other models';

/** A field that upstreams of the same format get as it is; on others, and for the gateway, it has no effect. */
export const forwarded = unusedField('same-format', FORWARDED);

/** A field of this type that upstreams of the same format get as it is. */
export function forwardedAs(type: JsonType, options: Pick<UnusedField, 'isOnByDefault'> = {}): UnusedField {
  return Object.assign(unusedField('same-format', FORWARDED, type), options);
}

/** How Genway uses the value of a field; null if the field is read or refused. */
export function useOf(field: object | undefined): UnusedField['use'] | null {
  return field !== undefined && isUnused(field) ? field.use : null;
}

export function isUnused(field: object): field is UnusedField {
  return 'use' in field;
}

/** A field without effect, of the type that the reader takes. */
function ignoredLike({ schema }: Reader<unknown>): UnusedField {
  const alternatives: readonly unknown[] = Array.isArray(schema['oneOf']) ? schema['oneOf'] : [schema];
  const types = new Set(alternatives.flatMap((one) => (isObject(one) ? [one['type']].flat() : [])));
  types.delete('null');
  const [only] = [...types].map((one) => (one === 'integer' ? 'number' : one));
  const known = JSON_TYPES.find((one) => one === only);
  return known === undefined || types.size !== 1 ? ignored : ignoredAs(known);
}

const JSON_TYPES: readonly JsonType[] = ['string', 'number', 'boolean', 'object', 'array'];

/**
 * Selects the reader of a field by compatibility: the first with `full`, and the second with `specification`; by default,
 * the field then has no effect.
 */
export type ReaderSelector = <T>(
  full: Reader<T | undefined>,
  specification?: Reader<T | undefined>,
) => Reader<T | undefined>;

/** Makes a reader of requests for each compatibility. */
export function byCompatibility<Read>(make: (select: ReaderSelector) => Read): Readonly<Record<Compatibility, Read>> {
  return {
    specification: make((full, specification = ignoredLike(full)) => specification),
    full: make((full, specification) => (specification === undefined ? withHint(full) : full)),
  };
}

function withHint<T>(read: Reader<T>): Reader<T> {
  const { description, ...schema } = read.schema;
  const hint = 'Without effect on models with the compatibility `specification`';
  return Object.assign(
    reader({ ...schema, description: typeof description === 'string' ? `${description}. ${hint}` : hint }, read),
    {
      isOptional: true,
    } as const,
  );
}

interface RefusedField extends Reader<undefined> {
  readonly isRefused: true;
}

/** A field that is refused, saying why or what to do instead. @param details the `error.details` of the refusal */
export function refused(advice: string, details?: JsonObject): RefusedField {
  const refuse = reader({ ...ONLY_NULL, description: `Not supported: ${advice}` }, (value, path): undefined => {
    if (isSet(value)) throw new ServiceError('bad_request', `"${path}" is not supported: ${advice}`, { details });
  });
  return Object.assign(refuse, { isOptional: true, isRefused: true } as const);
}

function isRefused(field: Reader<unknown>): boolean {
  return 'isRefused' in field;
}

/** Whether the field is checked with its object, since nothing reads its value later. */
function isCheckedFirst(field: Reader<unknown>): boolean {
  return isRefused(field) || (isUnused(field) && field.type !== null);
}

/** An object of a request with known fields, each of which is read on first use. */
export class Fields<Values> {
  readonly object: JsonObject;
  readonly path: string;
  readonly #shape: Shape<Values>;

  constructor(object: JsonObject, path: string, shape: Shape<Values>) {
    this.object = object;
    this.path = path;
    this.#shape = shape;
  }

  /** @throws ServiceError `bad_request` */
  get<Name extends keyof Values & string>(name: Name): Values[Name] {
    return this.#shape[name](this.object[name], this.at(name));
  }

  /** Reads a field with another reader than its shape's, if that depends on other fields. */
  getAs<T>(name: keyof Values & string, read: (value: unknown, path: string) => T): T {
    return read(this.object[name], this.at(name));
  }

  /** The values of all fields, read in the order of the shape. */
  all(): Values {
    const values: Partial<Values> = {};
    for (const name in this.#shape) values[name] = this.get(name);
    // Every field of the shape was read.
    return values as Values;
  }

  /** The fields that are set and have no effect, unknown ones among them. Usually, `false` asks for nothing. */
  unused(): UnusedFields {
    const namesOf = (isWanted: (field: Reader<unknown> | undefined) => boolean): string[] =>
      Object.keys(this.object)
        .filter((name) => asksFor(this.object[name], this.#fieldOf(name)) && isWanted(this.#fieldOf(name)))
        .map((name) => this.at(name));
    const unknown = namesOf((field) => field === undefined);
    return {
      always: namesOf((field) => useOf(field) === 'none'),
      // Upstreams of the same format get objects as they are.
      converted: [...namesOf((field) => useOf(field) === 'same-format'), ...unknown],
    };
  }

  #fieldOf(name: string): Reader<unknown> | undefined {
    const shape: Readonly<Record<string, Reader<unknown> | undefined>> = this.#shape;
    return Object.hasOwn(shape, name) ? shape[name] : undefined;
  }

  /** The path of a field. */
  at(name: string): string {
    return join(this.path, name);
  }
}

function asksFor(value: unknown, field: Reader<unknown> | undefined): boolean {
  if (value === false) return field !== undefined && isUnused(field) && field.isOnByDefault === true;
  return isSet(value);
}

export interface FieldsReader<Values> extends Reader<Fields<Values>> {
  readonly shape: Shape<Values>;
  /** The names of the fields that have an effect on an upstream of the same format. */
  readonly forwarded: ReadonlySet<string>;
}

interface AnyShape {
  readonly shape: Readonly<Record<string, Reader<unknown>>>;
}

/** The names of the fields that have an effect on every upstream. */
export function mappedFields({ shape }: AnyShape): ReadonlySet<string> {
  return namesOf(shape, (field) => useOf(field) === null && !isRefused(field));
}

/**
 * Selects the fields of a client's body for an upstream of the same format: those that are set and have an effect.
 */
export function forwardedFields(
  body: JsonObject,
  { forwarded }: { readonly forwarded: ReadonlySet<string> },
): JsonObject {
  const chosen: Record<string, unknown> = {};
  for (const name of Object.keys(body)) if (forwarded.has(name) && isSet(body[name])) chosen[name] = body[name];
  return chosen;
}

function namesOf(shape: AnyShape['shape'], isWanted: (field: Reader<unknown>) => boolean): ReadonlySet<string> {
  return new Set(Object.keys(shape).filter((name) => shape[name] !== undefined && isWanted(shape[name])));
}

export interface FieldsOptions {
  /** The treatment of fields that the shape does not name. A field that is null counts as not sent. */
  readonly unknown?: 'refuse' | 'ignore';
  readonly description?: string;
  /** How the object is read before its fields are. */
  readonly open?: (value: unknown, path: string) => JsonObject;
}

/** An object with these fields. Refuses, as soon as it is read, what it does not take. */
export function fields<Values>(shape: Shape<Values>, options: FieldsOptions = {}): FieldsReader<Values> {
  const { unknown = 'ignore', description, open = readObject } = options;
  const known = new Map<string, Reader<unknown>>(Object.entries(shape));
  const isChecked = unknown === 'refuse' || [...known.values()].some(isCheckedFirst);

  function check(object: JsonObject, path: string): void {
    for (const [name, value] of Object.entries(object)) {
      if (!isSet(value)) continue;
      const field = known.get(name);
      if (field === undefined && unknown === 'refuse') throw badRequest(`unknown field: ${join(path, name)}`);
      if (field !== undefined && isCheckedFirst(field)) field(value, join(path, name));
    }
  }

  const read = reader(schemaOf(known, unknown, description), (value, path) => {
    const object = open(value, path);
    if (isChecked) check(object, path);
    return new Fields(object, path, shape);
  });
  return Object.assign(read, {
    shape,
    forwarded: namesOf(shape, (field) => useOf(field) !== 'none' && !isRefused(field)),
  });
}

function schemaOf(
  known: ReadonlyMap<string, Reader<unknown>>,
  unknown: 'refuse' | 'ignore',
  description: string | undefined,
): JsonSchema {
  const required = [...known].filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: Object.fromEntries([...known].map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
    ...(unknown === 'refuse' && { additionalProperties: false }),
  };
}

/** Reads all fields of an object, in the order of its shape. */
export function record<Values>(shape: Shape<Values>, options?: FieldsOptions): Reader<Values> {
  return mapped(fields(shape, options), (read) => read.all());
}

/** Reads all fields of an object and converts the result. */
export function object<Values, Result>(
  shape: Shape<Values>,
  make: (values: Values, read: Fields<Values>) => Result,
  options?: FieldsOptions,
): Reader<Result> {
  return mapped(fields(shape, options), (read) => make(read.all(), read));
}

/** One of several kinds of objects, distinguished by their `type`, which their own shapes omit. */
export function typed<T>(readers: Readonly<Record<string, Reader<T>>>): Reader<T> {
  const known = new Map(Object.entries(readers));
  const [schema = {}, ...others] = [...known].map(([type, read]) => withType(type, read.schema));
  return reader(others.length === 0 ? schema : { oneOf: [schema, ...others] }, (value, path) => {
    const { type } = readObject(value, path);
    const read = typeof type === 'string' ? known.get(type) : undefined;
    if (read === undefined) throw notOneOf(type, join(path, 'type'), [...known.keys()]);
    return read(value, path);
  });
}

function withType(type: string, { properties, required, ...schema }: JsonSchema): JsonSchema {
  return {
    ...schema,
    properties: { type: { type: 'string', const: type }, ...Object(properties) },
    required: ['type', ...(Array.isArray(required) ? required : [])],
  };
}
