/** Query parameters: one Joi schema both describes a parameter and reads it. The value of an absent or empty one is undefined. */
import type Joi from 'joi';
import { hasExistingDay } from '../../domain/day.ts';
import { badRequest } from '../../domain/errors.ts';
import type { IdKind } from '../../domain/ids.ts';
import { type JsonSchema, oneOfTexts, text } from '../../domain/json-schema.ts';
import { type Month, parseMonth } from '../../domain/month.ts';
import { toJsonSchema } from '../openapi/joi-schema.ts';
import { readTime, TIME, TIME_REFUSAL } from '../../services/input/times.ts';
import { choice, createTextReader, idText, storableText, textOf } from '../../services/input/validation.ts';

/** One schema for each field of `Values`, by name. */
export type QueryParameters<Values> = { readonly [Name in keyof Values]: Joi.AnySchema<Values[Name]> };

/**
 * Prepares the parameters of an endpoint once for all its requests.
 *
 * @param isClosed whether parameters without a definition are refused; otherwise they have no effect
 * @returns a function that throws ServiceError `bad_request` for the first wrong parameter
 */
export function queryReader<Values extends object>(
  parameters: QueryParameters<Values> | undefined,
  isClosed = false,
): (query: URLSearchParams) => Values {
  const known = Object.keys(parameters ?? {});
  const read = createTextReader(parameters);
  return (query) => {
    const unknown = isClosed ? [...query.keys()].find((name) => !known.includes(name)) : undefined;
    if (unknown !== undefined)
      throw badRequest(`unknown parameter: ${unknown.slice(0, 100)}. There are: [${known.join(' ')}]`);
    const given = known.map((name) => [name, valueOf(query, name)] as const);
    return read(Object.fromEntries(given.filter(([, value]) => value !== '')));
  };
}

/** The value of a parameter; empty if it is absent. @throws ServiceError `bad_request` if it is repeated */
function valueOf(query: URLSearchParams, name: string): string {
  const [value = '', second] = query.getAll(name);
  if (second !== undefined) throw badRequest(`"${name}" may be given only once`);
  return value;
}

/** The query parameters as OpenAPI describes them. */
export function describeQuery(parameters: Readonly<Record<string, Joi.Schema>>): JsonSchema[] {
  return Object.entries(parameters).map(([name, parameter]) => {
    const { description, ...schema } = toJsonSchema(parameter);
    return { name, in: 'query', description, allowEmptyValue: true, schema };
  });
}

/** Any text. */
export function textParameter(description: string): Joi.AnySchema<string | undefined> {
  return storableText().description(description);
}

/** One of a few texts. */
export function choiceParameter<const Choice extends string>(
  choices: readonly Choice[],
  description: string,
): Joi.AnySchema<Choice | undefined> {
  return choice(choices)
    .meta({ openapi: oneOfTexts(choices) })
    .description(description);
}

/** The order of a list, which OpenAI's clients may send. */
export const NEWEST_FIRST = choiceParameter(['desc'], 'The order. Only newest first is available');

/** True or false. */
export function flagParameter(description: string): Joi.AnySchema<boolean | undefined> {
  return textOf(oneOfTexts(['true', 'false']), 'must be one of: [true false]', (given) =>
    given === 'true' || given === 'false' ? given === 'true' : null,
  ).description(description);
}

/** An id of a kind, whether or not it exists. */
export function idParameter(kind: IdKind, description: string): Joi.AnySchema<string | undefined> {
  return idText(kind).description(description);
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const UNIX_SECONDS = /^\d{1,11}$/;

/** A moment, as ISO 8601 or Unix seconds. */
function moment(description: string): Joi.AnySchema<Date | undefined> {
  return textOf(TIME, TIME_REFUSAL, (given) => readTime(UNIX_SECONDS.test(given) ? Number(given) : given)).description(
    `${description}, in ISO 8601 or Unix seconds`,
  );
}

/** A day in UTC. */
export function dayParameter(description: string): Joi.AnySchema<string | undefined> {
  return textOf(text(undefined, { format: 'date' }), 'must be a day such as 2026-11-30', (given) =>
    DAY.test(given) && hasExistingDay(given) ? given : null,
  ).description(description);
}

/** A month in UTC. */
export function monthParameter(description: string): Joi.AnySchema<Month | undefined> {
  const schema = text(undefined, { pattern: String.raw`^\d{4}-\d{2}$` });
  return textOf(schema, 'must be a month such as 2026-11', parseMonth).description(description);
}

export const PERIOD = {
  from: moment('The start of the period, inclusive'),
  to: moment('The end of the period, exclusive'),
};

/** Filters lists of tasks and text requests for operators. */
export const ATTEMPTS = {
  upstream: textParameter(
    'Filters by the upstream that has the task or answered the request. With `fault`, by the upstream that had the fault',
  ),
  fault: textParameter('Filters by the fault of an attempt, as the page *Failures* counts it, such as `unreachable`'),
};
