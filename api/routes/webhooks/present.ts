/** Webhook endpoints and their deliveries as accounts and operators see them. */
import { DELIVERY_STATUSES, type Delivery } from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { SUBSCRIBABLE_EVENTS } from '../../../domain/webhook-event.ts';
import * as field from '../../../domain/resource/field.ts';
import { deletionOf, nested, resource } from '../../../domain/resource/resource.ts';
import { historyUrl, type HistoryLinks } from '../../history-link.ts';
import { oneOfTexts } from '../../../domain/json-schema.ts';

/** An endpoint. Only the answers that create or replace the secret contain it. */
type ShownEndpoint = WebhookEndpoint & { readonly secret?: string };

export const ENDPOINT = resource<ShownEndpoint>(
  'Webhook',
  {
    id: field.id('webhookEndpoint')('id'),
    object: field.constant('webhook_endpoint'),
    url: field.url('url', 'Where events are sent'),
    description: field.text.orNull('description', 'Internal label'),
    events: field.words(oneOfTexts(SUBSCRIBABLE_EVENTS))('events'),
    secret: field
      .textWith({ pattern: '^whsec_' })
      .orAbsent(({ secret }) => secret, 'Signs deliveries; shown only when it is created or replaced'),
    enabled: field.boolean(({ disabledAt }) => disabledAt === null, 'Whether events are sent'),
    disabled_at: field.unixSeconds.orNull('disabledAt', 'When it was disabled'),
    disabled_reason: field.text.orNull('disabledReason', 'Why nothing is sent'),
    failing_since: field.unixSeconds.orNull('failingSince', 'The first failed attempt since the last success'),
    created_at: field.unixSeconds('createdAt', 'When it was created'),
    updated_at: field.unixSeconds('updatedAt', 'When it last changed'),
  },
  'A receiver of events.',
);

/** The endpoint as its owner sees it, with its owner. */
export const ADMIN_ENDPOINT = resource<ShownEndpoint>('AdminWebhook', {
  ...ENDPOINT.fields,
  account_id: field.id('account')('accountId'),
});

export const DELETED_ENDPOINT = deletionOf('webhookEndpoint', 'webhook_endpoint');

const ATTEMPT = nested<Delivery['attempts'][number]>({
  number: field.integer('number', 'From 1'),
  started_at: field.unixSeconds('startedAt', 'When it was sent'),
  latency_ms: field.integer('latencyMs', 'Milliseconds until the answer or the timeout'),
  http_status: field.integer.orNull('status', 'Null when there was no answer'),
  error: field.text.orNull('error', 'Why there was no valid answer'),
});

export const DELIVERY = resource<Delivery>(
  'Delivery',
  {
    id: field.id('delivery')('id'),
    object: field.constant('webhook_delivery'),
    webhook_id: field.id('webhookEndpoint')('endpointId', 'The endpoint'),
    event_id: field.id('event')('eventId'),
    event: field.text(
      'eventType',
      '`task.succeeded`, `task.failed`, `task.late_result`, `account.balance_low` or `endpoint.test`',
    ),
    task_id: field.id('task').orNull('taskId', 'Null for an event that is about no task'),
    status: field.oneOf(DELIVERY_STATUSES)('status'),
    attempts: field.list(ATTEMPT)('attempts'),
    next_attempt_at: field.unixSeconds.orNull('nextAttemptAt', 'When it is tried next; null if no attempt is planned'),
    created_at: field.unixSeconds('createdAt', 'When the event happened'),
    completed_at: field.unixSeconds.orNull('completedAt', 'When the last attempt ended'),
  },
  'The delivery of one event to one endpoint.',
);

/** The delivery as its owner sees it, with the details that only operators see. */
export const ADMIN_DELIVERY = resource<Delivery & { readonly temporal: HistoryLinks }>('AdminDelivery', {
  ...DELIVERY.fields,
  account_id: field.id('account')('accountId'),
  workflow_id: field.text('id', 'The id of the delivering workflow'),
  history_url: field.url(({ id, temporal }) => historyUrl(temporal, id), 'The workflow’s history in Temporal'),
});
