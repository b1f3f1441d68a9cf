/** Parameters of the query: each is described once, and read by its description. */
import type { ParsedUrlQuery } from 'node:querystring';
import { badRequest } from '../../domain/errors.ts';
import { type IdKind, isId } from '../../domain/ids.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { idOf, integer, oneOfTexts, text } from '../openapi/json-schema.ts';

export interface QueryParameter<Value> {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly required?: true;
  /**
   * The value of a text.
   *
   * @param given undefined when the parameter is absent or empty
   * @param name of the parameter, for refusals
   * @throws ServiceError `bad_request`
   */
  readonly read: (given: string | undefined, name: string) => Value;
}

/** A parameter for each field of `Values`, by its name. */
export type QueryParameters<Values> = { readonly [Name in keyof Values]: QueryParameter<Values[Name]> };

/** The values of parameters. @throws ServiceError `bad_request` for the first that is wrong */
export function readQuery<Values extends object>(
  parameters: QueryParameters<Values> | undefined,
  query: ParsedUrlQuery,
): Values {
  const values: Partial<Values> = {};
  for (const name in parameters) values[name] = parameters[name].read(valueOf(query, name), name);
  if (!isWhole(parameters, values)) throw new Error('a parameter of the query was not read');
  return values;
}

function isWhole<Values extends object>(
  parameters: QueryParameters<Values> | undefined,
  values: Partial<Values>,
): values is Values {
  return Object.keys(parameters ?? {}).every((name) => name in values);
}

/** A parameter that may be given once; an empty value counts as an absent one. @throws ServiceError `bad_request` */
function valueOf(query: ParsedUrlQuery, name: string): string | undefined {
  const value = query[name];
  if (Array.isArray(value)) throw badRequest(`"${name}" may be given once`);
  // PostgreSQL takes no text with one.
  if (value?.includes('\0')) throw badRequest(`"${name}" must not contain NUL characters`);
  return value === '' ? undefined : value;
}

/** Parameters as OpenAPI describes them. */
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
export function anyText(description: string): QueryParameter<string | undefined> {
  return { description, schema: text(), read: (given) => given };
}

/** One of a few texts. */
export function oneOf<const Choice extends string>(
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

/** An id of that kind, whether or not anything has it. */
export function anId(kind: IdKind, description: string): QueryParameter<string | undefined> {
  return {
    description,
    schema: idOf(kind),
    read: (given, name) => {
      if (given !== undefined && !isId(kind, given)) throw badRequest(`"${name}" is not such an id`);
      return given;
    },
  };
}

/** The years 0 to 9999: others, which begin with a sign, may be beyond what the database can compare with. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T|$)/;
const UNIX_SECONDS = /^\d{1,11}$/;
const MOMENT: JsonSchema = {
  anyOf: [
    text(undefined, { format: 'date-time' }),
    text(undefined, { format: 'date' }),
    integer(undefined, { minimum: 0 }),
  ],
};

/** A moment as ISO 8601 or as Unix seconds. */
function aMoment(description: string): QueryParameter<Date | undefined> {
  return {
    description: `${description}: ISO 8601 or Unix seconds`,
    schema: MOMENT,
    read: (given, name) => {
      if (given === undefined) return undefined;
      const isTime = ISO_TIME.test(given);
      const moment = new Date(UNIX_SECONDS.test(given) ? Number(given) * 1000 : isTime ? given : Number.NaN);
      if (Number.isNaN(moment.getTime())) throw badRequest(`"${name}" must be an ISO 8601 time or Unix seconds`);
      return moment;
    },
  };
}

/** A day in UTC, which has to be named. */
export function aDay(description: string): QueryParameter<string> {
  return {
    description,
    schema: text(undefined, { format: 'date' }),
    required: true,
    read: (given = '', name) => {
      const moment = new Date(/^\d{4}-\d{2}-\d{2}$/.test(given) ? given : Number.NaN);
      // A day that no month has is read as one of the next month.
      if (Number.isNaN(moment.getTime()) || moment.toISOString().slice(0, 10) !== given) {
        throw badRequest(`"${name}" must be a day such as 2026-11-30`);
      }
      return given;
    },
  };
}

export const PERIOD = {
  from: aMoment('Earliest moment, inclusive'),
  to: aMoment('Latest moment, exclusive'),
};
