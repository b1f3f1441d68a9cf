/** Times in requests. A time without an offset is in UTC. */
import Joi from 'joi';
import { parseIsoTime } from '../../domain/iso-time.ts';
import { type JsonSchema, integer, text } from '../../domain/json-schema.ts';

const LAST_SECOND = 99_999_999_999;

/** The forms of {@link readTime}. */
export const TIME: JsonSchema = {
  anyOf: [
    text(undefined, { format: 'date-time' }),
    text(undefined, { format: 'date' }),
    integer(undefined, { minimum: 0, maximum: LAST_SECOND }),
  ],
};

export const TIME_REFUSAL = 'must be an ISO 8601 time or Unix seconds';

/** Reads an ISO 8601 time or Unix seconds. @returns null for anything else */
export function readTime(given: unknown): Date | null {
  if (typeof given === 'string') return parseIsoTime(given);
  const isSecond = typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= LAST_SECOND;
  return isSecond ? new Date(given * 1_000) : null;
}

/** A time in a body, as ISO 8601 or Unix seconds. */
export const anyTime: Joi.AnySchema<Date> = Joi.any()
  .custom((given: unknown, helpers) => readTime(given) ?? helpers.error('time.refused'))
  .messages({ 'time.refused': `{{#label}} ${TIME_REFUSAL}` })
  .meta({ openapi: TIME });

/** An ISO 8601 time in a body, from 1970 to 9999: it can be shown in Unix seconds. */
export const isoTime: Joi.AnySchema<Date> = Joi.any()
  .custom((given: unknown, helpers) => {
    const time = typeof given === 'string' ? parseIsoTime(given) : null;
    return time !== null && time.getTime() >= 0 ? time : helpers.error('date.refused');
  })
  .messages({ 'date.refused': '{{#label}} must be an ISO 8601 time from 1970 to 9999' })
  .meta({ openapi: text(undefined, { format: 'date-time' }) });
