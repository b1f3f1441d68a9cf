/** Query parameters. One definition both describes a parameter and reads it. */
import { hasExistingDay } from '../../domain/day.ts';
import { badRequest } from '../../domain/errors.ts';
import { type IdKind, isId } from '../../domain/ids.ts';
import { idOf, integer, type JsonSchema, oneOfTexts, text } from '../../domain/json-schema.ts';
import { type Month, parseMonth } from '../../domain/month.ts';
import { isStorable } from '../../services/input/validation.ts';

export interface QueryParameter<Value> {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly required?: true;
  /**
   * Reads a value.
   *
   * @param given undefined when the parameter is absent or empty
   * @param name the name of the parameter, for error messages
   * @throws ServiceError `bad_request`
   */
  readonly read: (given: string | undefined, name: string) => Value;
}

/** One parameter for each field of `Values`, by name. */
export type QueryParameters<Values> = { readonly [Name in keyof Values]: QueryParameter<Values[Name]> };

/**
 * Reads the parameters of a request.
 *
 * @param isClosed whether parameters without a definition are refused; otherwise they have no effect
 * @throws ServiceError `bad_request` for the first wrong parameter
 */
export function readQuery<Values extends object>(
  parameters: QueryParameters<Values> | undefined,
  query: URLSearchParams,
  isClosed = false,
): Values {
  const known = Object.keys(parameters ?? {});
  const unknown = isClosed ? [...query.keys()].find((name) => !known.includes(name)) : undefined;
  if (unknown !== undefined)
    throw badRequest(`unknown parameter: ${unknown.slice(0, 100)}. There are: [${known.join(' ')}]`);
  const values: Partial<Values> = {};
  for (const name in parameters) values[name] = parameters[name].read(valueOf(query, name), name);
  if (!isWhole(parameters, values)) throw new Error('a query parameter was not read');
  return values;
}

function isWhole<Values extends object>(
  parameters: QueryParameters<Values> | undefined,
  values: Partial<Values>,
): values is Values {
  return Object.keys(parameters ?? {}).every((name) => name in values);
}

/** The value of a parameter; an empty one counts as absent. @throws ServiceError `bad_request` if it is repeated */
function valueOf(query: URLSearchParams, name: string): string | undefined {
  const [value, second] = query.getAll(name);
  if (second !== undefined) throw badRequest(`"${name}" may be given only once`);
  if (value !== undefined && !isStorable(value)) {
    throw badRequest(`"${name}" must not contain NUL characters or unpaired surrogates`);
  }
  return value === '' ? undefined : value;
}

/** The query parameters as OpenAPI describes them. */
export function describeQuery<Values extends object>(parameters: QueryParameters<Values> | undefined): JsonSchema[] {
  const described: JsonSchema[] = [];
  for (const name in parameters) {
    const { description, schema, required } = parameters[name];
    described.push({
      name,
      in: 'query',
      description,
      ...(required ? { required, allowEmptyValue: false } : { allowEmptyValue: true }),
      schema,
    });
  }
  return described;
}

/** Any text. */
export function textParameter(description: string): QueryParameter<string | undefined> {
  return { description, schema: text(), read: (given) => given };
}

/** One of a few texts. */
export function choiceParameter<const Choice extends string>(
  choices: readonly Choice[],
  description: string,
): QueryParameter<Choice | undefined> {
  return {
    description,
    schema: oneOfTexts(choices),
    read: (given, name) => {
      const choice = choices.find((known) => known === given);
      if (given !== undefined && choice === undefined) {
        throw badRequest(`"${name}" must be one of: [${choices.join(' ')}]`);
      }
      return choice;
    },
  };
}

/** True or false. */
export function flagParameter(description: string): QueryParameter<boolean | undefined> {
  const choice = choiceParameter(['true', 'false'], description);
  return {
    ...choice,
    read: (given, name) => {
      const chosen = choice.read(given, name);
      return chosen === undefined ? undefined : chosen === 'true';
    },
  };
}

/** An id of a kind, whether or not it exists. */
export function idParameter(kind: IdKind, description: string): QueryParameter<string | undefined> {
  return {
    description,
    schema: idOf(kind),
    read: (given, name) => {
      if (given !== undefined && !isId(kind, given)) throw badRequest(`"${name}" is not a valid id`);
      return given;
    },
  };
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** Years 0 to 9999. Years outside this range start with a sign and may exceed what the database can compare. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T|$)/;
const UNIX_SECONDS = /^\d{1,11}$/;
const MOMENT: JsonSchema = {
  anyOf: [
    text(undefined, { format: 'date-time' }),
    text(undefined, { format: 'date' }),
    integer(undefined, { minimum: 0 }),
  ],
};

/** A moment, as ISO 8601 or Unix seconds. */
function moment(description: string): QueryParameter<Date | undefined> {
  return {
    description: `${description}, in ISO 8601 or Unix seconds`,
    schema: MOMENT,
    read: (given, name) => {
      if (given === undefined) return undefined;
      const isTime = ISO_TIME.test(given) && hasExistingDay(given);
      const moment = new Date(UNIX_SECONDS.test(given) ? Number(given) * 1000 : isTime ? given : Number.NaN);
      if (Number.isNaN(moment.getTime())) throw badRequest(`"${name}" must be an ISO 8601 time or Unix seconds`);
      return moment;
    },
  };
}

/** A day in UTC. */
export function dayParameter(description: string): QueryParameter<string | undefined> {
  return {
    description,
    schema: text(undefined, { format: 'date' }),
    read: (given, name) => {
      if (given === undefined) return undefined;
      if (!DAY.test(given) || !hasExistingDay(given)) throw badRequest(`"${name}" must be a day such as 2026-11-30`);
      return given;
    },
  };
}

/** A month in UTC. */
export function monthParameter(description: string): QueryParameter<Month | undefined> {
  return {
    description,
    schema: text(undefined, { pattern: String.raw`^\d{4}-\d{2}$` }),
    read: (given, name) => {
      if (given === undefined) return undefined;
      const month = parseMonth(given);
      if (!month) throw badRequest(`"${name}" must be a month such as 2026-11`);
      return month;
    },
  };
}

export const PERIOD = {
  from: moment('The start of the period, inclusive'),
  to: moment('The end of the period, exclusive'),
};
