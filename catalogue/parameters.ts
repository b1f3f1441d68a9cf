/** The part of a catalogue file that defines a media model's own input fields (docs/catalogue.md). */
import Joi from 'joi';
import { type FieldPath, writePath } from '../domain/substitute-variables.ts';
import { FIELD_INPUTS, type ParameterNames } from '../domain/media-route.ts';
import { isValidScalar, type ModelParameters } from '../domain/model-parameters.ts';
import type { PicoUsd } from '../domain/money.ts';
import type { PriceModifier } from '../domain/pricing.ts';
import { parseRational } from '../domain/rational.ts';
import type { Finding, OperatorFile } from './operator-file.ts';
import { quoted, usd } from './quoted.ts';
import { choose } from './schema-findings.ts';

export interface ParameterEntries {
  readonly parameters?: ModelParameters;
  readonly price_modifiers: readonly PriceModifierEntry[];
}

export interface PriceModifierEntry {
  readonly when: PriceModifier['when'];
  readonly usd?: PicoUsd;
  readonly factor?: string;
}

/** The defaults for a schema without a bound, since every text and list needs one. */
const MAX_LENGTH = 10_000;
const MAX_ITEMS = 100;

const size = Joi.number().integer().min(0);
const numeric = ['integer', 'number'] as const;

/** Allows a keyword for some types only. */
const only = (types: readonly string[], schema: Joi.Schema): Joi.Schema =>
  Joi.any().when('type', { is: Joi.valid(...types), then: schema, otherwise: Joi.forbidden() });

const parameter = Joi.object({
  type: Joi.valid('string', ...numeric, 'boolean', 'array', 'object').required(),
  description: Joi.string(),
  default: Joi.alternatives(Joi.string().allow(''), Joi.number(), Joi.boolean()),
  format: only(['string'], Joi.valid('uri')),
  enum: Joi.any()
    .when('type', { is: 'string', then: Joi.array().items(Joi.string()).unique().min(1) })
    .when('type', { is: Joi.valid(...numeric), then: Joi.array().items(Joi.number()).unique().min(1) })
    .when('type', { is: Joi.valid('boolean', 'array', 'object'), then: Joi.forbidden() }),
  minLength: only(['string'], size.default(0)),
  maxLength: only(['string'], size.min(1).default(MAX_LENGTH)),
  minimum: only(numeric, Joi.number()),
  maximum: only(numeric, Joi.number()),
  items: only(['array'], Joi.link('#parameter').required()),
  minItems: only(['array'], size.default(0)),
  maxItems: only(['array'], size.min(1).default(MAX_ITEMS)),
  properties: only(['object'], Joi.object().pattern(/^\w+$/, Joi.link('#parameter')).required()),
  required: only(['object'], Joi.array().items(Joi.string()).unique().default([])),
  title: Joi.any().strip(),
  examples: Joi.any().strip(),
})
  .pattern(/^x-/, Joi.any().strip())
  .id('parameter');

/** The keys of a model. */
export const PARAMETER_KEYS = {
  parameters: Joi.object({
    type: Joi.valid('object').strip(),
    properties: Joi.object()
      .pattern(/^[a-z]\w{0,63}$/, parameter)
      .required(),
    required: Joi.array().items(Joi.string()).unique().default([]),
  }),
  price_modifiers: Joi.array()
    .items(
      Joi.object({
        when: Joi.object()
          .pattern(Joi.string(), Joi.alternatives(Joi.string(), Joi.number(), Joi.boolean()))
          .min(1)
          .required(),
        usd: usd.optional(),
        factor: quoted((text) => parseRational(text).decimal).optional(),
      }).or('usd', 'factor'),
    )
    .default([]),
};

/** The key of a route. */
export const parameterNames = Joi.object().pattern(
  Joi.string(),
  Joi.string()
    .pattern(/^\w+(\.\w+)*$/)
    .allow(null),
);

export function toPriceModifiers(entries: readonly PriceModifierEntry[]): readonly PriceModifier[] {
  return entries.map(({ when, usd: addition = 0n, factor = '1' }) => ({ when, addition: String(addition), factor }));
}

/** Names of fields that every model has, or that are easily confused with such a field. */
const TAKEN: ReadonlySet<string> = new Set([...FIELD_INPUTS, 'model', 'reference_videos', 'reference_audios']);

interface Entry extends ParameterEntries {
  readonly route?: RouteEntry;
  readonly routes?: readonly RouteEntry[];
}

interface RouteEntry {
  readonly parameters?: ParameterNames;
  readonly cost?: { readonly modifiers?: readonly PriceModifierEntry[] };
}

/** Finds contradictions between a model's parameters, prices and routes. @param path the model's path in the file */
export function findParameterFaults(file: OperatorFile, path: FieldPath, entry: Entry): readonly Finding[] {
  const { properties = {}, required = [] } = entry.parameters ?? {};
  const names = Object.keys(properties);
  const fault = (at: FieldPath, problem: string): Finding =>
    file.finding([...path, ...at], `"${writePath([...path, ...at])}" ${problem}`);
  const unknown = (at: FieldPath, name: string): readonly Finding[] =>
    names.includes(name) ? [] : [fault(at, `is not a parameter of the model${choose(name, names)}`)];
  const routes: readonly (readonly [FieldPath, RouteEntry])[] = entry.route
    ? [[['route'], entry.route]]
    : (entry.routes ?? []).map((route, index) => [['routes', index], route]);
  const modifiers = [
    ...entry.price_modifiers.map((modifier, index) => [['price_modifiers', index], modifier] as const),
    ...routes.flatMap(([at, { cost }]) =>
      (cost?.modifiers ?? []).map((modifier, index) => [[...at, 'cost', 'modifiers', index], modifier] as const),
    ),
  ];
  return [
    ...Object.entries(properties).flatMap(([name, schema]) => {
      const at = ['parameters', 'properties', name];
      const { default: value } = schema;
      return [
        ...(TAKEN.has(name) ? [fault(at, 'needs another name: this one belongs to a field of all models')] : []),
        ...(value === undefined || isValidScalar(schema, value)
          ? []
          : [fault([...at, 'default'], 'is not a value of the parameter')]),
        ...(routes.every(([, { parameters = {} }]) => parameters[name] === null)
          ? [fault(at, 'is sent upstream by no route of the model')]
          : []),
      ];
    }),
    ...required.flatMap((name, index) => unknown(['parameters', 'required', index], name)),
    ...routes.flatMap(([at, { parameters = {} }]) =>
      Object.keys(parameters).flatMap((name) => unknown([...at, 'parameters', name], name)),
    ),
    ...modifiers.flatMap(([at, { when }]) =>
      Object.entries(when).flatMap(([name, value]) => {
        const schema = properties[name];
        if (schema === undefined) return unknown([...at, 'when', name], name);
        return isValidScalar(schema, value) ? [] : [fault([...at, 'when', name], 'is not a value of the parameter')];
      }),
    ),
  ];
}
