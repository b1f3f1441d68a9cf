/** Webhook endpoints and their deliveries as accounts and operators see them. */
import { DELIVERY_STATUSES, type Delivery } from '../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import { SUBSCRIBABLE_EVENTS } from '../../domain/webhook-event.ts';
import * as field from '../../domain/resource/field.ts';
import { deletionOf, nested, resource } from '../../domain/resource/resource.ts';
import { historyUrl, type HistoryLinks } from '../operations/history-link.ts';
import { oneOfTexts } from '../../domain/json-schema.ts';

/** An endpoint. Only the answers that create or replace the secret contain it. */
type ShownEndpoint = WebhookEndpoint & { readonly secret?: string };

export const ENDPOINT = resource<ShownEndpoint>(
  'Webhook',
  {
    id: field.id('webhookEndpoint')('id'),
    object: field.constant('webhook_endpoint'),
    url: field.url('url', 'The address that receives events'),
    description: field.text.orNull('description', 'A label for your own use'),
    events: field.texts(oneOfTexts(SUBSCRIBABLE_EVENTS))('events'),
    secret: field
      .textWith({ pattern: '^whsec_' })
      .orAbsent(({ secret }) => secret, 'The secret that signs deliveries. Shown only when created or replaced'),
    enabled: field.boolean(({ disabledAt }) => disabledAt === null, 'Whether events are sent'),
    disabled_at: field.unixSeconds.orNull('disabledAt', 'When the endpoint was disabled. Null if enabled'),
    disabled_reason: field.text.orNull('disabledReason', 'Why the endpoint is disabled. Null if enabled'),
    failing_since: field.unixSeconds.orNull('failingSince', 'When deliveries started to fail. Null if none fails'),
    created_at: field.unixSeconds('createdAt', 'When the endpoint was created'),
    updated_at: field.unixSeconds('updatedAt', 'When the endpoint last changed'),
  },
  'An address that receives events.',
);

/** The endpoint as its owner sees it, with its owner. */
export const ADMIN_ENDPOINT = resource<ShownEndpoint>('AdminWebhook', {
  ...ENDPOINT.fields,
  account_id: field.id('account')('accountId'),
});

export const DELETED_ENDPOINT = deletionOf('webhookEndpoint', 'webhook_endpoint');

const ATTEMPT = nested<Delivery['attempts'][number]>({
  number: field.integer('number', 'The number of the attempt, from 1'),
  started_at: field.unixSeconds('startedAt', 'When the attempt started'),
  latency_ms: field.integer('latencyMs', 'The time until the answer or the timeout, in milliseconds'),
  http_status: field.integer.orNull('status', 'The HTTP status of the answer. Null if there was no answer'),
  error: field.text.orNull('error', 'The reason why there was no valid answer. Null if there was one'),
});

export const DELIVERY = resource<Delivery>(
  'Delivery',
  {
    id: field.id('delivery')('id'),
    object: field.constant('webhook_delivery'),
    webhook_id: field.id('webhookEndpoint')('endpointId', 'The id of the endpoint'),
    event_id: field.id('event')('eventId'),
    event: field.text(
      'eventType',
      '`task.succeeded`, `task.failed`, `task.late_result`, `account.balance_low` or `endpoint.test`',
    ),
    task_id: field.id('task').orNull('taskId', 'The id of the task. Null if the event has no task'),
    status: field.oneOf(DELIVERY_STATUSES)('status'),
    attempts: field.list(ATTEMPT)('attempts'),
    next_attempt_at: field.unixSeconds.orNull('nextAttemptAt', 'When the next attempt starts. Null if none is planned'),
    created_at: field.unixSeconds('createdAt', 'When the event happened'),
    completed_at: field.unixSeconds.orNull('completedAt', 'When the last attempt ended. Null while pending'),
  },
  'The delivery of one event to one endpoint.',
);

/** The delivery as its owner sees it, with the details that only operators see. */
export const ADMIN_DELIVERY = resource<Delivery & { readonly temporal: HistoryLinks }>('AdminDelivery', {
  ...DELIVERY.fields,
  account_id: field.id('account')('accountId'),
  workflow_id: field.text('id', 'The id of the delivery’s workflow'),
  history_url: field.url(({ id, temporal }) => historyUrl(temporal, id), 'The workflow’s history in Temporal'),
});
