/** Converts Joi schemas to JSON Schema, so that the API description states the rules that are checked. */
import type Joi from 'joi';
import { type JsonSchema, nullable, ONLY_NULL } from '../../domain/json-schema.ts';

/** The parts of Joi's `describe()` that are converted. */
interface Description {
  readonly type?: unknown;
  readonly flags?: {
    readonly presence?: unknown;
    readonly only?: unknown;
    readonly description?: unknown;
    readonly default?: unknown;
    readonly unknown?: unknown;
  };
  readonly allow?: readonly unknown[];
  readonly rules?: readonly Rule[];
  readonly keys?: Readonly<Record<string, Description>>;
  readonly items?: readonly Description[];
  readonly matches?: readonly { readonly schema?: Description }[];
  readonly dependencies?: readonly Dependency[];
  readonly metas?: readonly { readonly openapi?: JsonSchema }[];
  readonly examples?: readonly unknown[];
}

interface Rule {
  readonly name?: unknown;
  readonly args?: Readonly<Record<string, unknown>>;
}

interface Dependency {
  readonly rel?: unknown;
  readonly key?: unknown;
  readonly peers?: readonly unknown[];
}

/**
 * Converts a schema. Rules that cannot be converted (those made with `custom`) can be described by its `meta`, under
 * `openapi`.
 *
 * @throws Error for a kind of schema or a rule without a conversion, so that no rule is silently lost
 */
export function toJsonSchema(schema: Joi.Schema): JsonSchema {
  return translate(schema.describe());
}

function translate(description: Description): JsonSchema {
  const { flags = {}, metas = [], examples } = description;
  const added: JsonSchema = Object.assign({}, ...metas.map(({ openapi }) => openapi));
  return {
    ...typeOf(description, added),
    ...descriptionOf('default' in added ? { ...flags, default: undefined } : flags),
    ...(examples !== undefined && { examples }),
  };
}

function typeOf(description: Description, added: JsonSchema): JsonSchema {
  const { flags = {}, allow = [] } = description;
  const values = allow.filter((value) => value !== null);
  if (flags.only === true && values.length === 0) return ONLY_NULL;
  const translated = flags.only === true && !('enum' in added) ? enumOf(values) : { ...ofType(description), ...added };
  return allow.includes(null) ? nullable(translated) : translated;
}

/** Adds the default to the description: with the keyword `default`, TypeScript generators make the field required. */
function descriptionOf({ description: own, default: value }: NonNullable<Description['flags']>): JsonSchema {
  const byDefault =
    value === undefined ? [] : [`${typeof value === 'string' ? value : JSON.stringify(value)} by default`];
  const description = [...(typeof own === 'string' ? [own] : []), ...byDefault].join('; ');
  return description === '' ? {} : { description };
}

function enumOf(values: readonly unknown[]): JsonSchema {
  const [type, ...otherTypes] = new Set(values.map((value) => typeof value));
  // Generators make no type for an enum with values of several types.
  if (otherTypes.length > 0) return { oneOf: values.map((value) => enumOf([value])) };
  return { ...(type === 'string' && { type }), ...(values.length === 1 ? { const: values[0] } : { enum: values }) };
}

function ofType(description: Description): JsonSchema {
  const { type, rules = [], allow = [], items, matches = [], metas = [] } = description;
  switch (type) {
    case 'object':
      return ofObject(description);
    case 'array':
      return { type, ...(items?.[0] && { items: translate(items[0]) }), ...ofRules(ARRAY_RULES, rules) };
    case 'string':
      // Unlike JSON Schema, Joi rejects the empty string unless it is allowed explicitly.
      return { type, ...(!allow.includes('') && { minLength: 1 }), ...ofRules(STRING_RULES, rules) };
    case 'number':
      return { type, ...ofRules(NUMBER_RULES, rules) };
    case 'boolean':
      return { type };
    case 'alternatives':
      return { oneOf: matches.map(({ schema = {} }) => translate(schema)) };
    default:
      // A schema of any value is described by its `meta` alone.
      if (type === 'any' && metas.length > 0) return {};
      throw new Error(`the Joi type ${String(type)} has no conversion to JSON Schema yet`);
  }
}

function ofObject({ flags: own = {}, keys = {}, dependencies = [] }: Description): JsonSchema {
  const entries = Object.entries(keys);
  const required = entries.filter(([, { flags }]) => flags?.presence === 'required').map(([name]) => name);
  const exclusions = dependencies.flatMap(exclusionsOf);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, description]) => [name, translate(description)])),
    ...(required.length > 0 && { required }),
    ...(exclusions.length > 0 && { not: { anyOf: exclusions } }),
    additionalProperties: own.unknown === true,
  };
}

/** Pairs of fields that must not be sent together. */
function exclusionsOf({ rel, key, peers = [] }: Dependency): JsonSchema[] {
  if (rel !== 'without') throw new Error(`the Joi dependency ${String(rel)} has no conversion to JSON Schema yet`);
  return peers.map((peer) => ({ required: [key, peer] }));
}

type RuleTable = Readonly<Record<string, (limit: unknown) => JsonSchema>>;

/** Only the schema's `meta` can describe a custom rule. */
const custom = (): JsonSchema => ({});

const ARRAY_RULES: RuleTable = {
  min: (limit) => ({ minItems: limit }),
  max: (limit) => ({ maxItems: limit }),
  custom,
};
const NUMBER_RULES: RuleTable = {
  integer: () => ({ type: 'integer' }),
  min: (limit) => ({ minimum: limit }),
  max: (limit) => ({ maximum: limit }),
};
const STRING_RULES: RuleTable = {
  min: (limit) => ({ minLength: limit }),
  max: (limit) => ({ maxLength: limit }),
  pattern: (expression) => ({ pattern: String(expression).slice(1, -1) }),
  custom,
};

function ofRules(table: RuleTable, rules: readonly Rule[]): JsonSchema {
  const translated = rules.map(({ name, args }) => {
    const rule = table[String(name)];
    if (rule === undefined) throw new Error(`the Joi rule ${String(name)} has no conversion to JSON Schema yet`);
    return rule(args?.['limit'] ?? args?.['regex']);
  });
  return Object.assign({}, ...translated);
}
