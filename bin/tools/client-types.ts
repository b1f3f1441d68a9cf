/**
 * The types of the client packages, from the API description. What depends on the catalogue, such as the fields of one
 * model, is left out: the packages work with every catalogue.
 *
 *   npm run clients:types
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { endpointsFor } from '../../api/endpoints.ts';
import { createOpenApiDocument } from '../../api/openapi/document.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { isObject } from '../../domain/json.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';

/** What the packages export; what these refer to is written, too. */
const ROOTS = [
  'Task',
  'UploadedFile',
  'DeletedFile',
  'Model',
  'Balance',
  'UpdateBalance',
  'DailyUsage',
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
];
export const TYPESCRIPT_FILE = join(import.meta.dirname, '../../clients/typescript/src/types.ts');
const PREFIX = '#/components/schemas/';

/** The schemas of the roots, and of all that they refer to, by the names that they have as types. */
export function clientSchemas(): ReadonlyMap<string, JsonSchema> {
  const { components } = createOpenApiDocument(endpointsFor({ takesPayments: true }), loadCatalogue());
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

/** `ResponsesTool.function` is `ResponsesToolFunction`. */
function typeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** The file as it has to be in the repository. */
export async function writeTypeScript(schemas: ReadonlyMap<string, JsonSchema>): Promise<string> {
  const types = [...schemas].map(
    ([name, schema]) => `${comment(schema, '')}export type ${name} = ${typeOf(schema, '')};\n`,
  );
  const options = await resolveConfig(TYPESCRIPT_FILE);
  const lines = ['/** Written by `npm run clients:types` from the API description. */\n', ...types];
  return format(lines.join('\n'), { ...options, parser: 'typescript' });
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

if (process.argv[1] === import.meta.filename) writeFileSync(TYPESCRIPT_FILE, await writeTypeScript(clientSchemas()));
