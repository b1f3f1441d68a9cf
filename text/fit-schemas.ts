/** Schemas of a request as the vendors of a format accept them. A description states, in words, what a schema loses. */
import { type JsonObject, listOf, objectOf } from '../domain/json.ts';
import type { TextRequest, Tool } from './canonical.ts';
import { inCurrentDraft, resolveReference, subschemasOf } from './json-schema.ts';
import { compact } from './read.ts';

/** The rules that the vendors of a format document for schemas. */
export interface SchemaLimits {
  /** Keywords that they refuse at the top of a tool's schema, which describes an object. */
  readonly notAtTop: readonly string[];
  /** Whether a tool without arguments needs a schema, and the schema of an object its properties. */
  readonly needsProperties: boolean;
  /** Whether a tool with this schema may be strict. */
  readonly isStrict?: (schema: JsonObject) => boolean;
  /** The most that they compile for all strict tools of a request and its answer together. */
  readonly maxCompiled?: Complexity;
  /** Keywords of an answer's schema that they refuse, and models get in words. */
  readonly notInAnswer?: (schema: JsonObject) => readonly string[];
  /** Whether they accept the schema of an answer at all; otherwise the answer is the arguments of a tool. */
  readonly isForAnswer?: (schema: JsonObject) => boolean;
}

/** What makes schemas costly to compile. */
export interface Complexity {
  readonly tools: number;
  readonly optionalProperties: number;
  /** Schemas with alternatives or several types. */
  readonly unions: number;
}

/** The names of a client's format for what its schemas can lose. */
export interface SchemaNames {
  readonly tool: string;
  readonly answer: string;
  readonly strictTool: string;
}

export interface FittingSchemas {
  readonly request: TextRequest;
  /** The parts that the schemas lose, in the client's names. */
  readonly lost: readonly string[];
}

/** The request with schemas of tools within the limits. */
export function withFittingSchemas(request: TextRequest, limits: SchemaLimits, names: SchemaNames): FittingSchemas {
  const lost = new Set<string>();
  const { outputFormat } = request;
  const schema = outputFormat?.type === 'json-schema' ? outputFormat.schema : undefined;
  const { maxCompiled } = limits;
  let compiled = maxCompiled === undefined || schema === undefined ? NOTHING : complexityOf(schema);
  const isCompiled = ({ strict, parameters = {} }: Tool): boolean => {
    if (maxCompiled === undefined || strict !== true) return true;
    const more = plus(compiled, { ...complexityOf(parameters), tools: 1 });
    if (!isWithin(more, maxCompiled)) return false;
    compiled = more;
    return true;
  };
  const tools = request.tools.map((tool) => {
    const fitting = fittingTool(tool, limits);
    for (const keyword of fitting.lost) lost.add(`${names.tool}.${keyword}`);
    const fitted = isCompiled(fitting.tool) ? fitting.tool : { ...fitting.tool, strict: false };
    if (tool.strict === true && fitted.strict !== true) lost.add(names.strictTool);
    return fitted;
  });
  for (const keyword of (schema && limits.notInAnswer?.(schema)) ?? []) lost.add(`${names.answer}.${keyword}`);
  return { request: { ...request, tools }, lost: [...lost] };
}

const NOTHING: Complexity = { tools: 0, optionalProperties: 0, unions: 0 };

/** The complexity of a schema and all schemas inside it. */
export function complexityOf(schema: JsonObject): Complexity {
  const required = new Set(listOf(schema['required']));
  const names = Object.keys(objectOf(schema['properties']));
  const isUnion = [schema['anyOf'], schema['oneOf'], schema['type']].some(Array.isArray);
  const own: Complexity = {
    tools: 0,
    optionalProperties: names.filter((name) => !required.has(name)).length,
    unions: isUnion ? 1 : 0,
  };
  return subschemasOf(schema).map(complexityOf).reduce(plus, own);
}

function plus(one: Complexity, other: Complexity): Complexity {
  return {
    tools: one.tools + other.tools,
    optionalProperties: one.optionalProperties + other.optionalProperties,
    unions: one.unions + other.unions,
  };
}

/** Whether vendors compile so much. */
export function isWithin(complexity: Complexity, most: Complexity): boolean {
  return (
    complexity.tools <= most.tools &&
    complexity.optionalProperties <= most.optionalProperties &&
    complexity.unions <= most.unions
  );
}

function fittingTool(tool: Tool, limits: SchemaLimits): { readonly tool: Tool; readonly lost: readonly string[] } {
  const { clientType } = tool;
  const parameters = tool.parameters && inCurrentDraft(withoutReferenceAtTop(tool.parameters));
  if (clientType !== undefined || (parameters === undefined && !limits.needsProperties)) return { tool, lost: [] };
  const refused = Object.entries(parameters ?? {}).filter(([keyword]) => limits.notAtTop.includes(keyword));
  const lost = refused.map(([keyword]) => keyword);
  const schema = {
    ...Object.fromEntries(Object.entries(parameters ?? {}).filter(([keyword]) => !lost.includes(keyword))),
    type: 'object',
    ...(limits.needsProperties && { properties: objectOf(parameters?.['properties']) }),
    ...(refused.length > 0 && { description: inWords(parameters?.['description'], Object.fromEntries(refused)) }),
  };
  const strict = tool.strict === true && limits.isStrict?.(schema) === false ? false : tool.strict;
  return { tool: compact({ ...tool, parameters: schema, strict }), lost };
}

/** A schema that generators write as a reference to a named definition, with the keywords of the definition. */
function withoutReferenceAtTop(schema: JsonObject): JsonObject {
  const { $ref: reference, ...others } = schema;
  const target = typeof reference === 'string' ? resolveReference(schema, reference) : null;
  return target === null ? schema : { ...target, ...others };
}

/** A description with keywords that a schema cannot have. */
export function inWords(description: unknown, keywords: JsonObject): string {
  return [description, JSON.stringify(keywords)].filter((word) => typeof word === 'string').join('\n\n');
}

/** Whether a condition holds for a schema and all schemas inside it. */
export function holdsForAll(schema: JsonObject, holds: (schema: JsonObject) => boolean): boolean {
  return holds(schema) && subschemasOf(schema).every((inner) => holdsForAll(inner, holds));
}

/** Whether a schema describes an object. */
export function isOfObject({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
}

const NOT_STRICT = ['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentSchemas', 'dependentRequired'];

/**
 * Whether OpenAI accepts a schema for a strict tool: objects are closed, and require all their properties
 * (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas).
 */
function isStrictForOpenai(root: JsonObject): boolean {
  return holdsForAll(root, (schema) => {
    if (NOT_STRICT.some((keyword) => keyword in schema)) return false;
    if (!isOfObject(schema)) return true;
    const required = new Set(listOf(schema['required']));
    const names = Object.keys(objectOf(schema['properties']));
    return schema['additionalProperties'] === false && names.every((name) => required.has(name));
  });
}

/** https://platform.openai.com/docs/guides/function-calling: the service names these keywords in its refusal. */
export const OPENAI_SCHEMA_LIMITS: SchemaLimits = {
  notAtTop: ['oneOf', 'anyOf', 'allOf', 'enum', 'not'],
  needsProperties: true,
  isStrict: isStrictForOpenai,
};
