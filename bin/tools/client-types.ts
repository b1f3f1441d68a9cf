/**
 * Writes the types of the client packages, from the API description. Omits everything that depends on the catalogue,
 * such as the fields of one model: the packages work with every catalogue.
 *
 *   npm run clients:types
 */
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endpointsFor } from '../../api/endpoints.ts';
import { createOpenApiDocument } from '../../api/openapi/document.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { isObject } from '../../domain/json.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { formatText } from './format.ts';

/** The types that the packages export. The tool also writes the types to which these refer. */
const ROOTS = [
  'Task',
  'Batch',
  'CreateBatch',
  'UploadedFile',
  'DeletedFile',
  'Model',
  'Balance',
  'UpdateBalance',
  'DailyUsage',
  'EndUserUsage',
  'TextRequest',
  'Webhook',
  'CreateWebhook',
  'UpdateWebhook',
  'Delivery',
  'TaskEvent',
  'LowBalanceEvent',
  'TestEvent',
  'SearchCapabilities',
  'FoundCapability',
  'Capability',
  'RunCapability',
  'ChatCompletion',
  'ResponsesResponse',
  'Message',
  'GenerateContentResponse',
  'RerankResponse',
];
export const TYPESCRIPT_FILE = join(import.meta.dirname, '../../clients/typescript/src/types.ts');
const PYTHON_FOLDER = join(import.meta.dirname, '../../clients/python/src/genway');
const PREFIX = '#/components/schemas/';

/** The schemas of the roots, and of all types to which they refer, by the names of the types. */
export function clientSchemas(): ReadonlyMap<string, JsonSchema> {
  const { components } = createOpenApiDocument(endpointsFor({ canTakePayments: true }), loadCatalogue());
  const schemas = new Map<string, JsonSchema>();
  const add = (name: string): void => {
    const schema = components.schemas[name];
    if (schema === undefined) throw new Error(`The description has no schema ${name}.`);
    if (schemas.has(typeName(name))) return;
    schemas.set(typeName(name), schema);
    for (const [, found = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) add(found);
  };
  ROOTS.forEach(add);
  return schemas;
}

/** The name of the type of a schema: `ResponsesToolFunction` for `ResponsesTool.function`. */
function typeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Returns the text of the generated file. */
export async function writeTypeScript(schemas: ReadonlyMap<string, JsonSchema>): Promise<string> {
  const types = [...schemas].map(
    ([name, schema]) => `${comment(schema, '')}export type ${name} = ${typeOf(schema, '')};\n`,
  );
  const lines = ['/** Written by `npm run clients:types` from the API description. */\n', ...types];
  return formatText(TYPESCRIPT_FILE, lines.join('\n'));
}

function typeOf(schema: JsonSchema, indent: string): string {
  const { $ref, const: constant, enum: values, type } = schema;
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (typeof $ref === 'string') return typeName($ref.slice(PREFIX.length));
  if (constant !== undefined) return JSON.stringify(constant);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(choices) && type === undefined) {
    return [...new Set(choices.map((choice: JsonSchema) => typeOf(choice, indent)))].join(' | ');
  }
  if (Array.isArray(type)) return type.map((one: unknown) => typeOf({ ...schema, type: one }, indent)).join(' | ');
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `(${isObject(schema['items']) ? typeOf(schema['items'], indent) : 'unknown'})[]`;
    case 'object':
      return objectOf(schema, indent);
    default:
      return 'unknown';
  }
}

function objectOf({ properties, required, additionalProperties }: JsonSchema, indent: string): string {
  if (!isObject(properties)) {
    return `Record<string, ${isObject(additionalProperties) ? typeOf(additionalProperties, indent) : 'unknown'}>`;
  }
  const inner = `${indent}  `;
  const fields = Object.entries(properties).flatMap(([name, field]) => {
    if (!isObject(field)) return [];
    const mark = Array.isArray(required) && required.includes(name) ? '' : '?';
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return [`${comment(field, inner)}${inner}${key}${mark}: ${typeOf(field, inner)};\n`];
  });
  return `{\n${fields.join('')}${indent}}`;
}

function comment({ description }: JsonSchema, indent: string): string {
  return typeof description === 'string' ? `${indent}/** ${description.replaceAll('*/', '* /')} */\n` : '';
}

/** Returns the text of each generated file of the Python package. */
export async function writePython(schemas: ReadonlyMap<string, JsonSchema>): Promise<ReadonlyMap<string, string>> {
  const source = await readFile(join(PYTHON_FOLDER, '_async.py'), 'utf8');
  return new Map([
    [join(PYTHON_FOLDER, 'types.py'), pythonTypes(schemas)],
    [join(PYTHON_FOLDER, '_sync.py'), ASYNC_TO_SYNC.reduce((text, [from, to]) => text.replaceAll(from, to), source)],
  ]);
}

const PYTHON_HEAD = `"""Written by \`npm run clients:types\` from the API description."""

from typing import Any, Dict, List, Literal, NotRequired, TypedDict, Union
`;

/** Python has no nested types: an object in an object gets the names of both. */
function pythonTypes(schemas: ReadonlyMap<string, JsonSchema>): string {
  const classes: string[] = [];
  const add = (schema: JsonSchema, name: string): string => pythonType(schema, name, classes);
  const aliases = [...schemas].flatMap(([name, schema]) => {
    const type = add(schema, name);
    return type === `"${name}"` ? [] : [`${name} = ${type}\n`];
  });
  return [PYTHON_HEAD, ...classes, ...aliases].join('\n');
}

/** @param classes receives the objects in the schema */
function pythonType(schema: JsonSchema, name: string, classes: string[]): string {
  const { $ref, const: constant, enum: values, type, items } = schema;
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (typeof $ref === 'string') return `"${typeName($ref.slice(PREFIX.length))}"`;
  if (constant !== undefined) return `Literal[${pythonValue(constant)}]`;
  if (Array.isArray(values)) return `Literal[${values.map(pythonValue).join(', ')}]`;
  if (Array.isArray(choices) && type === undefined) {
    const types = choices.map((choice: JsonSchema, index) => pythonType(choice, `${name}${index + 1}`, classes));
    return `Union[${[...new Set(types)].join(', ')}]`;
  }
  if (Array.isArray(type)) {
    return `Union[${type.map((one: unknown) => pythonType({ ...schema, type: one }, name, classes)).join(', ')}]`;
  }
  if (type === 'array') return `List[${isObject(items) ? pythonType(items, `${name}Item`, classes) : 'Any'}]`;
  return type === 'object' ? pythonObject(schema, name, classes) : (PYTHON_TYPES[String(type)] ?? 'Any');
}

function pythonObject(schema: JsonSchema, name: string, classes: string[]): string {
  const { properties, required, additionalProperties } = schema;
  if (!isObject(properties)) {
    const value = isObject(additionalProperties) ? pythonType(additionalProperties, `${name}Value`, classes) : 'Any';
    return `Dict[str, ${value}]`;
  }
  const fields = Object.entries(properties).flatMap(([field, of]) => {
    if (!isObject(of)) return [];
    const fieldType = pythonType(of, `${name}${typeName(`_${field}`)}`, classes);
    const isRequired = Array.isArray(required) && required.includes(field);
    return [`    "${field}": ${isRequired ? fieldType : `NotRequired[${fieldType}]`},`];
  });
  // Not as a class, since fields such as `from` are keywords of Python.
  classes.push(`${name} = TypedDict("${name}", {\n${fields.join('\n')}\n})\n`);
  return `"${name}"`;
}

const PYTHON_TYPES: Readonly<Record<string, string>> = {
  string: 'str',
  boolean: 'bool',
  null: 'None',
  integer: 'int',
  number: 'float',
};

function pythonValue(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
}

/** The replacements that make the synchronous client from the asynchronous one. */
const ASYNC_TO_SYNC: readonly (readonly [from: string | RegExp, to: string])[] = [
  [/^""".*"""/g, '"""The synchronous client. `npm run clients:types` writes this file from _async.py."""'],
  ['import asyncio\n', ''],
  ['asyncio.sleep', 'time.sleep'],
  [/\bAsync(?=[A-Z])/g, ''],
  [/\basync (?=def|for)/g, ''],
  [/\bawait /g, ''],
  [/__a(iter|enter|exit)__/g, '__$1__'],
  [/\ba(close|iter_lines|iter_bytes)\b/g, '$1'],
];

if (process.argv[1] === import.meta.filename) {
  const schemas = clientSchemas();
  writeFileSync(TYPESCRIPT_FILE, await writeTypeScript(schemas));
  for (const [file, text] of await writePython(schemas)) writeFileSync(file, text);
}
