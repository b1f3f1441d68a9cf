/** Request bodies of the webhook calls: contract 2.4. */
import Joi from 'joi';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../db/queries/deliveries.ts';
import { SUBSCRIBABLE_EVENTS, type SubscribableEvent } from '../../../domain/webhook-event.ts';
import { choice, freeText } from '../../validation.ts';

export interface CreateEndpointBody {
  readonly url: string;
  readonly description?: string | null;
  readonly events?: SubscribableEvent[];
}

export interface UpdateEndpointBody extends Partial<CreateEndpointBody> {
  readonly enabled?: boolean;
}

export interface RedeliverBody {
  readonly from: string | number;
  readonly to?: string | number;
  readonly status?: DeliveryStatus;
}

const url = freeText({ min: 1, max: 2048 })
  .description('Where events are sent; public HTTPS')
  .example('https://example.com/hooks/genway');

const settings = {
  description: freeText({ min: 0, max: 1000 }).allow('', null).description('Internal label'),
  events: Joi.array<SubscribableEvent[]>()
    .items(choice(SUBSCRIBABLE_EVENTS))
    .min(1)
    .max(SUBSCRIBABLE_EVENTS.length)
    .description('Events to deliver; both events of tasks when omitted'),
};

export const createEndpointSchema = Joi.object<CreateEndpointBody>({ url: url.required(), ...settings });

export const updateEndpointSchema = Joi.object<UpdateEndpointBody>({
  url,
  ...settings,
  enabled: Joi.boolean().description('False stops deliveries; true resumes them and clears past failures'),
});

const LAST_SECOND = 99_999_999_999;

/** Years 0 to 9999. Years outside this range start with a sign and may be more than the database can compare. */
const moment = Joi.alternatives(Joi.string().isoDate().pattern(/^\d/), Joi.number().integer().min(0).max(LAST_SECOND))
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

export const redeliverSchema = Joi.object<RedeliverBody>({
  from: moment
    .required()
    .messages({ 'any.required': '{{#label}} is required' })
    .description('Earliest event, inclusive'),
  to: moment.description('Latest event, exclusive; now by default'),
  status: choice(DELIVERY_STATUSES).description('The state of the deliveries; `failed` by default'),
});

/** Converts a moment that the schema accepted. */
export function toDate(given: string | number): Date {
  return new Date(typeof given === 'number' ? given * 1000 : given);
}
