/**
 * Input fields that a media model has beyond the common ones (docs/catalogue.md), described in a subset of JSON Schema:
 * https://json-schema.org/draft/2020-12/json-schema-validation
 */
import { isObject, type JsonObject } from './json.ts';

interface Described {
  readonly description?: string;
  /** Sent to the upstream when a client leaves the field out. */
  readonly default?: string | number | boolean;
}

export type ParameterSchema = Described &
  (
    | {
        readonly type: 'string';
        /** A link to an input, as in `images`. */
        readonly format?: 'uri';
        readonly enum?: readonly string[];
        readonly minLength: number;
        readonly maxLength: number;
      }
    | {
        readonly type: 'integer' | 'number';
        readonly enum?: readonly number[];
        readonly minimum?: number;
        readonly maximum?: number;
      }
    | { readonly type: 'boolean' }
    | {
        readonly type: 'array';
        readonly items: ParameterSchema;
        readonly minItems: number;
        readonly maxItems: number;
      }
    | ({ readonly type: 'object' } & ModelParameters)
  );

export interface ModelParameters {
  readonly properties: Readonly<Record<string, ParameterSchema>>;
  readonly required: readonly string[];
}

export const NO_PARAMETERS: ModelParameters = { properties: {}, required: [] };

/** Whether a text, number or boolean is a valid value of the parameter. */
export function isValidScalar(schema: ParameterSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
      if (typeof value !== 'string' || schema.format === 'uri') return false;
      return schema.enum?.includes(value) ?? (value.length >= schema.minLength && value.length <= schema.maxLength);
    case 'integer':
    case 'number': {
      if (typeof value !== 'number' || (schema.type === 'integer' && !Number.isSafeInteger(value))) return false;
      const { enum: values, minimum = -Infinity, maximum = Infinity } = schema;
      return values?.includes(value) ?? (value >= minimum && value <= maximum);
    }
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return false;
  }
}

/** The parameters in a request body, with defaults filled in; undefined if there are none. */
export function parametersIn(body: object, { properties }: ModelParameters): JsonObject | undefined {
  const sent = new Map(Object.entries(body));
  const values = Object.entries(properties).map(([name, schema]) => [name, sent.get(name) ?? schema.default] as const);
  const given = values.filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Returns example values for the required parameters. @param link the value of links */
export function exampleParameters({ properties, required }: ModelParameters, link: string): JsonObject {
  const values = required.flatMap((name) => {
    const schema = properties[name];
    return schema === undefined ? [] : [[name, exampleOf(schema, link)]];
  });
  return Object.fromEntries(values);
}

function exampleOf(schema: ParameterSchema, link: string): unknown {
  if (schema.default !== undefined) return schema.default;
  switch (schema.type) {
    case 'string':
      if (schema.format === 'uri') return link;
      return schema.enum?.[0] ?? 'lighthouse'.padEnd(schema.minLength, '.').slice(0, schema.maxLength);
    case 'integer':
    case 'number':
      return schema.enum?.[0] ?? schema.minimum ?? Math.min(schema.maximum ?? 1, 1);
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: schema.minItems }, () => exampleOf(schema.items, link));
    default:
      return exampleParameters(schema, link);
  }
}

/** The links in parameters, each once. */
export function linksIn(values: JsonObject, { properties }: ModelParameters): readonly string[] {
  const links = Object.entries(properties).flatMap(([name, schema]) => linksAt(values[name], schema));
  return [...new Set(links)];
}

function linksAt(value: unknown, schema: ParameterSchema): readonly string[] {
  if (schema.type === 'array') return Array.isArray(value) ? value.flatMap((item) => linksAt(item, schema.items)) : [];
  if (schema.type === 'object') return isObject(value) ? linksIn(value, schema) : [];
  return schema.type === 'string' && schema.format === 'uri' && typeof value === 'string' ? [value] : [];
}

/** All texts in parameters, links included. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

/** Converts a form's text to the type of the parameter. Returns other text unchanged, so that validation refuses it. */
export function readParameter(text: unknown, schema: ParameterSchema | undefined): unknown {
  if (typeof text !== 'string' || text === '') return text;
  switch (schema?.type) {
    case 'integer':
    case 'number':
      return Number.isNaN(Number(text)) ? text : Number(text);
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'array':
    case 'object':
      return parseJson(text) ?? text;
    default:
      return text;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
