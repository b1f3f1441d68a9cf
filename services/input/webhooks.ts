/** Request bodies of the webhook calls: contract 2.4. */
import Joi from 'joi';
import { DELIVERY_STATUSES } from '../../db/queries/deliveries.ts';
import { hasExistingDay } from '../../domain/day.ts';
import { SUBSCRIBABLE_EVENTS, type SubscribableEvent } from '../../domain/webhook-event.ts';
import { type BodyOf, bodySchema, choice, freeText, list, orNull, requiredField } from './validation.ts';

const url = freeText({ min: 1, max: 2048 })
  .description('The public HTTPS address that receives events')
  .example('https://example.com/hooks/genway');

const settings = {
  description: orNull(freeText({ min: 0, max: 1000 }).allow('').description('A label for your own use')),
  events: list<SubscribableEvent>(choice(SUBSCRIBABLE_EVENTS), {
    min: 1,
    max: SUBSCRIBABLE_EVENTS.length,
  }).description('The events to deliver. By default, `task.succeeded` and `task.failed`'),
};

export const createEndpointSchema = bodySchema({ url: requiredField(url), ...settings });
export type CreateEndpointBody = BodyOf<typeof createEndpointSchema>;

export const updateEndpointSchema = bodySchema({
  url,
  ...settings,
  enabled: Joi.boolean().description('False stops deliveries; true resumes them and clears past failures'),
});

const LAST_SECOND = 99_999_999_999;

/** Years 0 to 9999. Years outside this range start with a sign and may exceed what the database can compare. */
const moment: Joi.AnySchema<string | number> = Joi.alternatives(
  Joi.string()
    .isoDate()
    .pattern(/^\d/)
    .custom((text: string, helpers) => (hasExistingDay(text) ? text : helpers.error('string.isoDate'))),
  Joi.number().integer().min(0).max(LAST_SECOND),
)
  .messages({ '*': '{{#label}} must be an ISO 8601 time or Unix seconds' })
  .meta({
    openapi: {
      oneOf: [
        { type: 'string', format: 'date-time' },
        { type: 'string', format: 'date' },
        { type: 'integer', minimum: 0, maximum: LAST_SECOND },
      ],
    },
  });

export const redeliverSchema = bodySchema({
  from: requiredField(
    moment.messages({ 'any.required': '{{#label}} is required' }).description('Earliest event, inclusive'),
  ),
  to: moment.description('Latest event, exclusive. By default, now'),
  status: choice(DELIVERY_STATUSES).description('The status of the deliveries. By default, `failed`'),
});
export type RedeliverBody = BodyOf<typeof redeliverSchema>;

/** Converts a time that the schema accepted. */
export function toDate(given: string | number): Date {
  return new Date(typeof given === 'number' ? given * 1000 : given);
}
