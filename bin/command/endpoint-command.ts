/**
 * Commands that make one call of the administration. The endpoint determines the command's description, its options,
 * and whether the command prints one object, a list, an export or text.
 */
import { type Command, Option } from 'commander';
import { endpointsFor } from '../../api/endpoints.ts';
import { componentOf, type JsonSchema } from '../../domain/json-schema.ts';
import type { Operation } from '../../api/openapi/operation.ts';
import { isObject } from '../../domain/json.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { Administration } from './administration.ts';

/**
 * A command and the `operationId` of the endpoint that it calls. The usage consists of the names of the command and its
 * arguments, which are parameters of the path or fields of the query or the body. All other fields are options. The
 * columns of a list are separated by spaces.
 */
export type EndpointCommand = readonly [usage: string, call: string, columns?: string, role?: 'default'];

/** A field of the query or the body. */
interface Input {
  readonly name: string;
  readonly place: 'query' | 'body';
  readonly schema: JsonSchema;
  readonly description: string;
  readonly isRequired: boolean;
}

/** The value of an option; a flag is true, or false with the prefix `--no-`. */
type Given = string | boolean | undefined;

const ADMIN_PATH = '/admin/v1';

/** Adds a command to a program, in the groups that its usage names. */
export function addEndpointCommand(
  program: Command,
  [usage, call, columns = '', role]: EndpointCommand,
  admin: Administration,
): void {
  const operation = operationOf(call);
  const parts = usage.split(' ');
  const names = parts.filter((part) => /^[a-z]/.test(part));
  const parameters = parts.slice(names.length).map((part) => part.slice(1, -1));
  const inputs = inputsOf(operation);

  const group = names.slice(0, -1).reduce(groupOf, program);
  const command = group.command([names.at(-1), ...parts.slice(names.length)].join(' '), {
    isDefault: role === 'default',
  });
  command.description(operation.summary);
  for (const input of inputs) {
    if (!parameters.includes(input.name)) for (const option of optionsOf(input, operation)) command.addOption(option);
  }
  const isExport = hasAnswerIn(operation, 'text/csv');
  if (isExport) addExportOptions(command);

  command.action(async () => {
    const argument = (name: string): Given => command.args[parameters.indexOf(name)];
    const given = ({ name }: Input): Given =>
      parameters.includes(name) ? argument(name) : command.opts<Record<string, Given>>()[camelCase(name)];
    const path = pathOf(operation, argument) + queryOf(inputs, given);
    if (isExport && (await admin.exportAll(path, command.opts()))) return;
    if (hasAnswerIn(operation, 'text/plain')) await admin.showText(path);
    else if (isList(operation)) await admin.list(path, columns.split(' '));
    else await admin.show(methodOf(operation), path, bodyOf(inputs, given));
  });
}

/** Adds the options that print all rows of a list. */
export function addExportOptions(command: Command): Command {
  return command
    .option('--csv', 'print all rows as CSV, for a spreadsheet')
    .option('--csv-comma', 'the same with decimal commas, and semicolons between cells')
    .option('--ndjson', 'print all rows, one JSON object per line, for a program');
}

/** @throws Error if the endpoint does not exist */
function operationOf(id: string): Operation {
  const operation = endpointsFor({ canTakePayments: false }).find((endpoint) => endpoint.id === id);
  if (!operation) throw new Error(`no endpoint has the operationId ${id}`);
  return operation;
}

const METHODS = { get: 'GET', post: 'POST', patch: 'PATCH', delete: 'DELETE' } as const;

function methodOf({ method }: Operation): (typeof METHODS)[keyof typeof METHODS] {
  return METHODS[method];
}

/** Returns the group of commands with this name, and adds it if there is none yet. */
export function groupOf(parent: Command, name: string): Command {
  return parent.commands.find((command) => command.name() === name) ?? parent.command(name);
}

function inputsOf({ parameters, body }: Operation): readonly Input[] {
  const query = parameters.flatMap(({ in: place, name, schema, description, required }): Input[] =>
    place === 'query' && typeof name === 'string' && isSchema(schema)
      ? [{ name, place, schema, description: textOf(description), isRequired: required === true }]
      : [],
  );
  const { properties, required } = definitionOf(bodySchemaOf(body));
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const fields = Object.entries(isSchema(properties) ? properties : {}).flatMap(([name, schema]): Input[] => {
    if (!isSchema(schema)) return [];
    return [{ name, place: 'body', schema, description: textOf(schema['description']), isRequired: isRequired(name) }];
  });
  return [...query, ...fields];
}

/** The schema behind a reference. */
function definitionOf(schema: JsonSchema): JsonSchema {
  return componentOf(schema)?.schema ?? schema;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function bodySchemaOf(body: Operation['body']): JsonSchema {
  const { schema } = body?.content['application/json'] ?? {};
  return isSchema(schema) ? schema : {};
}

function isSchema(value: unknown): value is JsonSchema {
  return isObject(value);
}

/** The types that a value may have, such as `string` and `null`. */
function typesOf({ type, oneOf, anyOf, const: only, enum: choices }: JsonSchema): ReadonlySet<string> {
  if (only === null) return new Set(['null']);
  if (Array.isArray(choices)) return new Set(choices.map((choice) => (choice === null ? 'null' : typeof choice)));
  const alternatives = [oneOf, anyOf].filter(Array.isArray).flat().filter(isSchema);
  const types = [type].flat().filter((name) => typeof name === 'string');
  return new Set([...types, ...alternatives.flatMap((schema) => [...typesOf(schema)])]);
}

function isFlag({ schema }: Input): boolean {
  const { enum: choices } = schema;
  return typesOf(schema).has('boolean') || (Array.isArray(choices) && choices.join() === 'true,false');
}

/** The options of a field. In a PATCH command, the option with `--no-` sets a nullable field to null. */
function optionsOf(input: Input, { method }: Operation): readonly Option[] {
  const { name, schema, description, isRequired } = input;
  const option = optionNameOf(name);
  const types = typesOf(schema);
  if (isFlag(input)) return [new Option(`--${option}`, description), new Option(`--no-${option}`)];
  const emptied = types.has('null') && method === 'patch' ? [new Option(`--no-${option}`, `Set ${name} to null`)] : [];
  if (types.size === 1 && types.has('null')) return emptied;
  const { enum: choices } = schema;
  const valued = new Option(`--${option} <${valueName(input, types)}>`, description);
  if (isRequired) valued.makeOptionMandatory();
  if (Array.isArray(choices)) valued.choices(choices.filter((choice) => typeof choice === 'string'));
  return [valued, ...emptied];
}

function optionNameOf(name: string): string {
  return name.replaceAll('_', '-');
}

/** The placeholder of a value in the help. */
function valueName({ name, schema }: Input, types: ReadonlySet<string>): string {
  if (types.has('array')) return itemTypesOf(schema).has('object') ? 'json' : 'a,b,…';
  if (schema['format'] === 'date-time' || /^(from|to)$/.test(name)) return 'time';
  return types.has('integer') || types.has('number') ? 'number' : 'text';
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The address under `/admin/v1`, with the parameters filled in. */
function pathOf({ path }: Operation, argument: (name: string) => Given): string {
  return path
    .slice(ADMIN_PATH.length)
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(argument(name) ?? '')));
}

function queryOf(inputs: readonly Input[], given: (input: Input) => Given): string {
  const query = new URLSearchParams();
  for (const input of inputs) {
    const value = input.place === 'query' ? given(input) : undefined;
    if (value !== undefined) query.set(input.name, String(value));
  }
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function bodyOf(inputs: readonly Input[], given: (input: Input) => Given): object | undefined {
  const fields = inputs.filter(({ place }) => place === 'body');
  if (fields.length === 0) return undefined;
  return Object.fromEntries(
    fields.flatMap((input) => {
      const value = valueOf(input, given(input));
      return value === undefined ? [] : [[input.name, value]];
    }),
  );
}

/** A field's value for the body: null if the option has the prefix `--no-`. */
function valueOf(input: Input, given: Given): unknown {
  if (given === undefined) return undefined;
  const types = typesOf(input.schema);
  if (typeof given === 'boolean') {
    if (isFlag(input)) return given;
    // If the command line omits an option that exists only with `--no-`, Commander sets it to true.
    return given ? undefined : null;
  }
  if (itemTypesOf(input.schema).has('object')) return readJson(input, given);
  if (types.has('array')) return given.split(',').map((item) => typedAs(input, itemTypesOf(input.schema), item));
  return typedAs(input, types, given);
}

/** Parses a list of objects, which the command line gives as JSON. @throws OperatorError */
function readJson({ name }: Input, given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    throw new OperatorError(`--${optionNameOf(name)} must be JSON: a list such as [{"model":"…"}], in quotes.`);
  }
}

function itemTypesOf({ items }: JsonSchema): ReadonlySet<string> {
  return isSchema(items) ? typesOf(items) : new Set();
}

/**
 * Converts numbers. Amounts stay text, which is exact.
 *
 * @throws OperatorError for a text that is no number: JSON would have null instead, which removes a limit
 */
function typedAs({ name }: Input, types: ReadonlySet<string>, text: string): string | number {
  const isNumber = (types.has('integer') || types.has('number')) && !types.has('string');
  if (!isNumber) return text;
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(number)) throw new OperatorError(`--${optionNameOf(name)} must be a number, not "${text}".`);
  return number;
}

/** Whether the endpoint answers in this media type. */
function hasAnswerIn({ answers }: Operation, mediaType: string): boolean {
  return Object.values(answers).some(({ content }) => content !== undefined && mediaType in content);
}

function isList({ method, answers }: Operation): boolean {
  const { schema } = answers[200]?.content?.['application/json'] ?? {};
  const { properties } = isSchema(schema) ? definitionOf(schema) : {};
  const data = isSchema(properties) ? properties['data'] : undefined;
  return method === 'get' && isSchema(data) && data['type'] === 'array';
}
