/** Request bodies of the webhook calls: contract 2.4. */
import Joi from 'joi';
import { DELIVERY_STATUSES } from '../../db/queries/deliveries.ts';
import { SUBSCRIBABLE_EVENTS, type SubscribableEvent } from '../../domain/webhook-event.ts';
import { anyTime } from './times.ts';
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

export const redeliverSchema = bodySchema({
  from: requiredField(anyTime.description('Earliest event, inclusive')),
  to: anyTime.description('Latest event, exclusive. By default, now'),
  status: choice(DELIVERY_STATUSES).description(
    'Selects deliveries by status. By default, the missed deliveries: `failed`, or `pending` with a later attempt',
  ),
});
export type RedeliverBody = BodyOf<typeof redeliverSchema>;
