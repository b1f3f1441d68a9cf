/** Webhook endpoints and their deliveries as accounts and operators see them. */
import { DELIVERY_STATUSES, type Delivery } from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import { SUBSCRIBABLE_EVENTS } from '../../../domain/webhook-event.ts';
import { historyUrl, type HistoryLinks } from '../../history-link.ts';
import {
  arrayOf,
  boolean,
  component,
  exactly,
  fieldsOf,
  idOf,
  integer,
  object,
  objectOf,
  oneOfTexts,
  optional,
  text,
  unixSeconds,
} from '../../openapi/json-schema.ts';

type EndpointObject = ReturnType<typeof presentEndpoint>;

const ENDPOINT_FIELDS = fieldsOf<EndpointObject>({
  id: idOf('webhookEndpoint'),
  object: exactly('webhook_endpoint'),
  url: text('Where events are sent', { format: 'uri' }),
  description: nullable(text('Internal label')),
  events: arrayOf(oneOfTexts(SUBSCRIBABLE_EVENTS)),
  secret: optional(text('Signs deliveries; shown only when it is created or replaced', { pattern: '^whsec_' })),
  enabled: boolean('Whether events are sent'),
  disabled_at: nullable(unixSeconds('When it was disabled')),
  disabled_reason: nullable(text('Why nothing is sent')),
  failing_since: nullable(unixSeconds('The first failed attempt since the last success')),
  created_at: unixSeconds('When it was created'),
  updated_at: unixSeconds('When it last changed'),
});

export const EndpointSchema = component('Webhook', object(ENDPOINT_FIELDS, 'A receiver of events.'));

export const AdminEndpointSchema = component(
  'AdminWebhook',
  object({ ...ENDPOINT_FIELDS, account_id: idOf('account') }),
);

export const DeletedEndpointSchema = object({
  id: idOf('webhookEndpoint'),
  object: exactly('webhook_endpoint'),
  deleted: boolean(),
});

/** @param secret only in the answers that create or replace it; it is never shown again */
export function presentEndpoint(endpoint: WebhookEndpoint, secret?: string) {
  return {
    id: endpoint.id,
    object: 'webhook_endpoint',
    url: endpoint.url,
    description: endpoint.description,
    events: endpoint.events,
    ...(secret !== undefined && { secret }),
    enabled: endpoint.disabledAt === null,
    disabled_at: endpoint.disabledAt && toUnixSeconds(endpoint.disabledAt),
    disabled_reason: endpoint.disabledReason,
    failing_since: endpoint.failingSince && toUnixSeconds(endpoint.failingSince),
    created_at: toUnixSeconds(endpoint.createdAt),
    updated_at: toUnixSeconds(endpoint.updatedAt),
  };
}

/** The endpoint as its owner sees it, with its owner. */
export function presentAdminEndpoint(endpoint: WebhookEndpoint, secret?: string) {
  return { ...presentEndpoint(endpoint, secret), account_id: endpoint.accountId };
}

type DeliveryObject = ReturnType<typeof presentDelivery>;

const DELIVERY_FIELDS = fieldsOf<DeliveryObject>({
  id: idOf('delivery'),
  object: exactly('webhook_delivery'),
  webhook_id: idOf('webhookEndpoint', 'The endpoint'),
  event_id: idOf('event'),
  event: text('`task.succeeded`, `task.failed`, `account.balance_low` or `endpoint.test`'),
  task_id: nullable(idOf('task', 'Null for an event that is about no task')),
  status: oneOfTexts(DELIVERY_STATUSES),
  attempts: arrayOf(
    objectOf<DeliveryObject['attempts'][number]>({
      number: integer('From 1'),
      started_at: unixSeconds('When it was sent'),
      latency_ms: integer('Milliseconds until the answer or the timeout'),
      http_status: nullable(integer('Null when there was no answer')),
      error: nullable(text('Why there was no valid answer')),
    }),
  ),
  next_attempt_at: nullable(unixSeconds('When it is tried next; null if no attempt is planned')),
  created_at: unixSeconds('When the event happened'),
  completed_at: nullable(unixSeconds('When the last attempt ended')),
});

export const DeliverySchema = component(
  'Delivery',
  object(DELIVERY_FIELDS, 'The delivery of one event to one endpoint.'),
);

export function presentDelivery(delivery: Delivery) {
  return {
    id: delivery.id,
    object: 'webhook_delivery',
    webhook_id: delivery.endpointId,
    event_id: delivery.eventId,
    event: delivery.eventType,
    task_id: delivery.taskId,
    status: delivery.status,
    attempts: delivery.attempts.map(({ number, startedAt, latencyMs, status, error }) => ({
      number,
      started_at: toUnixSeconds(startedAt),
      latency_ms: latencyMs,
      http_status: status,
      error,
    })),
    next_attempt_at: delivery.nextAttemptAt && toUnixSeconds(delivery.nextAttemptAt),
    created_at: toUnixSeconds(delivery.createdAt),
    completed_at: delivery.completedAt && toUnixSeconds(delivery.completedAt),
  };
}

export const AdminDeliverySchema = component(
  'AdminDelivery',
  object({
    ...DELIVERY_FIELDS,
    ...fieldsOf<Omit<ReturnType<typeof presentAdminDelivery>, keyof DeliveryObject>>({
      account_id: idOf('account'),
      workflow_id: text('The id of the delivering workflow'),
      history_url: text('The workflow’s history in Temporal', { format: 'uri' }),
    }),
  }),
);

/** The delivery as its owner sees it, with what only operators see. */
export function presentAdminDelivery(delivery: Delivery, temporal: HistoryLinks) {
  return {
    ...presentDelivery(delivery),
    account_id: delivery.accountId,
    workflow_id: delivery.id,
    history_url: historyUrl(temporal, delivery.id),
  };
}
