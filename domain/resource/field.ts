/**
 * The fields of a resource. A field is defined once: its schema in the API description, its value in JSON, its cells in
 * CSV, and how people see it in the console.
 */
import type { IdKind } from '../ids.ts';
import type { JsonSchema } from '../json-schema.ts';
import * as schemas from '../json-schema.ts';
import { formatUsd, type PicoUsd, toUsdNumber } from '../money.ts';
import { toUnixSeconds } from '../unix-time.ts';

/** A cell of a CSV row; null is an empty cell. The writer of the row formats amounts and moments for its readers. */
export type Cell = string | number | bigint | boolean | Date | Amount | null;

/** An amount in a cell; the type distinguishes amounts from other numbers. */
export interface Amount {
  readonly picoUsd: PicoUsd;
}

/** How the console shows a value: a choice in the reader's language, a plain value as it is. */
type DisplayKind = 'plain' | 'choice' | 'id' | 'number' | 'usd';

export interface Field<Row> {
  readonly display: DisplayKind;
  /** The value as the row holds it. */
  readonly value: (row: Row) => unknown;
  readonly schema: JsonSchema | schemas.OptionalField;
  /** The value in JSON; undefined leaves the field out. */
  readonly json: (row: Row) => unknown;
  /** The columns in CSV: none, one, or one for each field of a nested object. */
  readonly columns: Columns<Row>;
}

/** The column's name is the field's name and a suffix. */
type Columns<From> = readonly (readonly [suffix: string, cell: (from: From) => Cell])[];

/** The schema, JSON and CSV of a value. */
interface Kind<Value> {
  readonly display: DisplayKind;
  readonly schema: (description?: string) => Field<never>['schema'];
  readonly json: (value: Value) => unknown;
  readonly columns: Columns<Value>;
}

/** Makes a field from a property of the row, or from a function. The description explains the field to clients. */
interface Make<Value> {
  <Name extends string>(name: Name, description?: string): Field<Readonly<Record<Name, Value>>>;
  <Row>(read: (row: Row) => Value, description?: string): Field<Row>;
}

interface FieldMaker<Value> extends Make<Value> {
  /** Makes a field whose value may be null. */
  readonly orNull: Make<Value | null>;
  /** Makes a field that is absent where the value is undefined. */
  readonly orAbsent: Make<Value | undefined>;
}

function define<Value>(
  schema: (description?: string) => JsonSchema,
  json: (value: Value) => unknown,
  columns: Columns<Value>,
  display: DisplayKind = 'plain',
): FieldMaker<Value> {
  return Object.assign(makerOf({ display, schema, json, columns }), {
    orNull: makerOf<Value | null>({
      display,
      schema: (description) => schemas.nullable(schema(description)),
      json: (value) => (value === null ? null : json(value)),
      columns: columns.map(([suffix, cell]) => [suffix, (value) => (value === null ? null : cell(value))]),
    }),
    orAbsent: makerOf<Value | undefined>({
      display,
      schema: (description) => schemas.optional(schema(description)),
      json: (value) => (value === undefined ? undefined : json(value)),
      columns: columns.map(([suffix, cell]) => [suffix, (value) => (value === undefined ? null : cell(value))]),
    }),
  });
}

function makerOf<Value>({ display, schema, json, columns }: Kind<Value>): Make<Value> {
  function make<Name extends string>(name: Name, description?: string): Field<Readonly<Record<Name, Value>>>;
  function make<Row>(read: (row: Row) => Value, description?: string): Field<Row>;
  function make<Name extends string>(
    source: Name | ((row: Readonly<Record<Name, Value>>) => Value),
    description?: string,
  ): Field<Readonly<Record<Name, Value>>> {
    const read = typeof source === 'function' ? source : (row: Readonly<Record<Name, Value>>) => row[source];
    return {
      display,
      value: read,
      schema: schema(description),
      json: (row) => json(read(row)),
      columns: columns.map(([suffix, cell]) => [suffix, (row) => cell(read(row))]),
    };
  }
  return make;
}

/** Defines a kind of value with one CSV column. */
function single<Value>(
  schema: (description?: string) => JsonSchema,
  json: (value: Value) => unknown,
  cell: (value: Value) => Cell,
  display?: DisplayKind,
): FieldMaker<Value> {
  return define(schema, json, [['', cell]], display);
}

/** An object within another: see `resource.ts`. */
interface Nested<Row> {
  readonly schema: JsonSchema;
  readonly present: (row: Row) => Readonly<Record<string, unknown>>;
  readonly columns: Columns<Row>;
}

const same = <Value>(value: Value): Value => value;
const toIso = (moment: Date): string => moment.toISOString();
const toAmount = (picoUsd: PicoUsd): Amount => ({ picoUsd });

export const text = single<string>(schemas.text, same, same);
/** Text with constraints, such as a format. */
export const textWith = (constraints: JsonSchema) =>
  single<string>((description) => schemas.text(description, constraints), same, same);
export const oneOf = (values: readonly string[]) =>
  single<string>((description) => schemas.oneOfTexts(values, description), same, same, 'choice');
export const id = (kind: IdKind) => single<string>((description) => schemas.idOf(kind, description), same, same, 'id');
export const url = textWith({ format: 'uri' });
/** A day in UTC, such as 2026-11-30. */
export const day = textWith({ format: 'date' });
export const integer = single<number>(schemas.integer, same, same, 'number');
export const number = single<number>(schemas.number, same, same, 'number');
export const boolean = single<boolean>(schemas.boolean, same, same);
/** A whole number from 0. */
export const count = single<number | bigint>(
  (description) => schemas.integer(description, { minimum: 0 }),
  Number,
  same,
  'number',
);
/** An amount: a JSON number, and exact in CSV. */
export const usd = single<PicoUsd>((description) => schemas.usd(description ?? ''), toUsdNumber, toAmount, 'usd');
/** An amount that is exact in JSON and CSV: a decimal string in JSON. */
export const exactUsd = single<PicoUsd>(
  (description) => schemas.exactUsd(description ?? ''),
  formatUsd,
  toAmount,
  'usd',
);
/** A moment as ISO 8601 in UTC. */
export const isoTime = single<Date>((description) => schemas.isoTime(description ?? ''), toIso, same);
/** A moment in whole Unix seconds. */
export const unixSeconds = single<Date>((description) => schemas.unixSeconds(description ?? ''), toUnixSeconds, same);

/** A list of texts; separated by spaces in CSV. */
export const texts = (items: JsonSchema) =>
  single<readonly string[]>(
    (description) => schemas.arrayOf(items, description),
    same,
    (values) => values.join(' '),
    'choice',
  );

/** A nested object. In CSV, each nested field is a column, named `<field>_<nested field>`. */
export const object = <Row>({ schema, present, columns }: Nested<Row>) =>
  define<Row>(
    () => schema,
    present,
    columns.map(([name, cell]) => [`_${name}`, cell]),
  );

/** A list of nested objects. @param toText makes the text of each object in CSV; by default, CSV omits the list */
export const list = <Row>({ schema, present }: Omit<Nested<Row>, 'columns'>, toText?: (row: Row) => string) =>
  define<readonly Row[]>(
    (description) => schemas.arrayOf(schema, description),
    (rows) => rows.map(present),
    toText ? [['', (rows) => rows.map(toText).join(' ')]] : [],
  );

/** A value of any other shape. CSV omits the value. */
export const json = (schema: JsonSchema) => define<unknown>(() => schema, same, []);

/** The field `object`, which names the resource. CSV omits the field: all rows of an export are of one resource. */
export function constant(value: string): Field<unknown> {
  return { display: 'plain', value: () => value, schema: schemas.exactly(value), json: () => value, columns: [] };
}
