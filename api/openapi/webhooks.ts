/** Webhook endpoints, their deliveries and what receivers are sent: specification sections 2.4, 4.7 and 6. */
import { DELIVERY_STATUSES } from '../../db/queries/deliveries.ts';
import { TASK_EVENTS } from '../../domain/webhook-event.ts';
import type { EventObject } from '../../domain/webhook-event.ts';
import type { presentAdminDelivery, presentDelivery, presentEndpoint } from '../routes/webhooks/present.ts';
import { createEndpointSchemas, redeliverSchema } from '../routes/webhooks/schema.ts';
import { toJsonSchema } from './joi-schema.ts';
import {
  arrayOf,
  boolean,
  exactly,
  fieldsOf,
  integer,
  type JsonSchema,
  nullable,
  object,
  oneOfTexts,
  optional,
  ref,
  text,
  unixSeconds,
  idOf,
} from './json-schema.ts';
import { json } from '../endpoint/answers.ts';
import { jsonBody, type Operation } from './operation.ts';
import { envelopeOf, IDEMPOTENCY_KEY, listOf, PAGE, query } from './shared.ts';

type Endpoint = ReturnType<typeof presentEndpoint>;
type Delivery = ReturnType<typeof presentDelivery>;

const { create, update } = createEndpointSchemas(() => true);

const DELIVERY_FIELDS = fieldsOf<Delivery>({
  id: idOf('delivery'),
  object: exactly('webhook_delivery'),
  webhook_id: idOf('webhookEndpoint', 'The endpoint'),
  event_id: idOf('event'),
  event: text('`task.succeeded`, `task.failed` or `endpoint.test`'),
  task_id: nullable(idOf('task', 'Null for a test event')),
  status: oneOfTexts(DELIVERY_STATUSES),
  attempts: arrayOf(
    object(
      fieldsOf<Delivery['attempts'][number]>({
        number: integer('From 1'),
        started_at: unixSeconds('When it was sent'),
        latency_ms: integer('Milliseconds until the answer, or until it was given up'),
        http_status: nullable(integer('Null when there was no answer')),
        error: nullable(text('Why there was no answer, or why it does not count')),
      }),
    ),
  ),
  next_attempt_at: nullable(unixSeconds('Null when no further attempt is known to follow')),
  created_at: unixSeconds('When the event happened'),
  completed_at: nullable(unixSeconds('When the last attempt ended')),
});

export const WEBHOOK_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  CreateWebhook: toJsonSchema(create),
  UpdateWebhook: toJsonSchema(update),
  Redeliver: toJsonSchema(redeliverSchema),
  Webhook: object(
    fieldsOf<Endpoint>({
      id: idOf('webhookEndpoint'),
      object: exactly('webhook_endpoint'),
      url: text('Where events are sent', { format: 'uri' }),
      description: nullable(text('Internal label')),
      events: arrayOf(oneOfTexts(TASK_EVENTS)),
      secret: optional(text('Signs deliveries; shown only when it was just made', { pattern: '^whsec_' })),
      enabled: boolean('Whether events are sent'),
      disabled_at: nullable(unixSeconds('When it was disabled')),
      disabled_reason: nullable(text('Why nothing is sent')),
      failing_since: nullable(unixSeconds('The first failed attempt since the last success')),
      created_at: unixSeconds('When it was created'),
      updated_at: unixSeconds('When it last changed'),
    }),
    'Where events are sent.',
  ),
  Delivery: object(DELIVERY_FIELDS, 'One event on its way to one endpoint.'),
  AdminDelivery: object({
    ...DELIVERY_FIELDS,
    ...fieldsOf<Omit<ReturnType<typeof presentAdminDelivery>, keyof Delivery>>({
      account_id: idOf('account'),
      workflow_id: text('The workflow that delivers'),
      history_url: text('Its history', { format: 'uri' }),
    }),
  }),
  TaskEvent: object(
    fieldsOf<EventObject>({
      id: idOf('event'),
      object: exactly('event'),
      type: oneOfTexts(TASK_EVENTS),
      created_at: unixSeconds('When it happened'),
      data: ref('Task'),
    }),
    'What happened, and the task as polling showed it at that moment.',
  ),
  TestEvent: object({
    id: idOf('event'),
    object: exactly('event'),
    type: exactly('endpoint.test'),
    created_at: unixSeconds('When it was asked for'),
    data: object({ id: idOf('webhookEndpoint'), object: exactly('webhook_endpoint'), url: text() }),
  }),
};

const DELETED = object({ id: idOf('webhookEndpoint'), object: exactly('webhook_endpoint'), deleted: boolean() });

export const DELIVERY_STATUS = query('status', 'Only deliveries in that state', oneOfTexts(DELIVERY_STATUSES));

function endpointAnswer(description: string) {
  return { description, content: json(envelopeOf(ref('Webhook'))) };
}

function deliveryAnswer(description: string) {
  return { description, content: json(envelopeOf(ref('Delivery'))) };
}

export const WEBHOOK_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/webhooks',
    id: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create an endpoint',
    description: 'The answer is the only one that shows the secret with which deliveries are signed.',
    access: 'key',
    parameters: [IDEMPOTENCY_KEY],
    body: jsonBody(ref('CreateWebhook'), {
      both: { value: { url: 'https://example.com/hooks/genway', description: 'Production' } },
      failures: { value: { url: 'https://example.com/hooks/genway', events: ['task.failed'] } },
    }),
    answers: { 201: { ...endpointAnswer('The endpoint with its secret'), headers: ['Idempotent-Replayed'] } },
    refusals: [409],
  },
  {
    method: 'get',
    path: '/v1/webhooks',
    id: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List endpoints, newest first',
    access: 'key',
    parameters: PAGE,
    answers: { 200: { description: 'A page of endpoints', content: json(listOf(ref('Webhook'))) } },
    refusals: [400],
  },
  {
    method: 'get',
    path: '/v1/webhooks/{webhook_id}',
    id: 'getWebhook',
    tag: 'Webhooks',
    summary: 'Get one endpoint',
    access: 'key',
    answers: { 200: endpointAnswer('The endpoint') },
    refusals: [404],
  },
  {
    method: 'patch',
    path: '/v1/webhooks/{webhook_id}',
    id: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Change an endpoint',
    description: 'What is not sent stays as it is.',
    access: 'key',
    body: jsonBody(ref('UpdateWebhook'), { pause: { value: { enabled: false } } }),
    answers: { 200: endpointAnswer('The endpoint as it is now') },
    refusals: [404],
  },
  {
    method: 'delete',
    path: '/v1/webhooks/{webhook_id}',
    id: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete an endpoint',
    access: 'key',
    answers: { 200: { description: 'It is gone', content: json(envelopeOf(DELETED)) } },
    refusals: [404],
  },
  {
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/rotate-secret',
    id: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Replace the secret',
    description: 'For 24 hours the old secret signs beside the new one, for receivers that accept several signatures.',
    access: 'key',
    answers: { 200: endpointAnswer('The endpoint with its new secret') },
    refusals: [400, 404, 413],
  },
  {
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/test',
    id: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event',
    access: 'key',
    answers: { 202: deliveryAnswer('The delivery; ask the list of deliveries what became of it') },
    refusals: [400, 404, 413],
  },
  {
    method: 'get',
    path: '/v1/webhooks/{webhook_id}/deliveries',
    id: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'List deliveries to an endpoint, newest first',
    access: 'key',
    parameters: [DELIVERY_STATUS, ...PAGE],
    answers: { 200: { description: 'A page of deliveries', content: json(listOf(ref('Delivery'))) } },
    refusals: [400, 404],
  },
  {
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    id: 'redeliver',
    tag: 'Webhooks',
    summary: 'Send a delivery again',
    access: 'key',
    answers: { 202: deliveryAnswer('The delivery, pending again') },
    refusals: [400, 404, 413],
  },
  {
    method: 'post',
    path: '/v1/webhooks/{webhook_id}/redeliver',
    id: 'redeliverMany',
    tag: 'Webhooks',
    summary: 'Send many deliveries again',
    description:
      'At most 200 in one call; while `has_more` is true, call again. An account may ask 60 times a minute, single deliveries included.',
    access: 'key',
    body: jsonBody(ref('Redeliver'), {
      outage: { value: { from: '2026-10-01T08:00:00Z', to: '2026-10-01T10:30:00Z' } },
    }),
    answers: {
      202: {
        description: 'How many are on their way again',
        content: json(
          envelopeOf(
            object({ object: exactly('webhook_redelivery'), count: integer(), left: integer(), has_more: boolean() }),
          ),
        ),
      },
    },
    refusals: [404],
  },
];

const DELIVERY_HEADERS: readonly (readonly [name: string, description: string])[] = [
  ['x-svc-event', 'The type of the event'],
  ['x-svc-timestamp', 'Unix seconds of this attempt. Refuse one that is more than 5 minutes old.'],
  [
    'x-svc-signature',
    'Hex HMAC-SHA256 over timestamp, `.` and the raw body, keyed with the secret of the endpoint. Verify the raw bytes before ' +
      'parsing them, in constant time.',
  ],
  ['webhook-id', 'The same in every attempt of a delivery (Standard Webhooks)'],
  ['webhook-timestamp', 'As `x-svc-timestamp` (Standard Webhooks)'],
  ['webhook-signature', 'Signatures in the form of Standard Webhooks: `v1,` and base64, separated by spaces'],
];

/** The `webhooks` section: what receivers are sent. */
export const WEBHOOKS: Readonly<Record<string, JsonSchema>> = {
  'task.succeeded': received('The result of a task is stored', 'TaskEvent'),
  'task.failed': received('A task failed; its price is refunded. Not sent for a processing timeout.', 'TaskEvent'),
  'endpoint.test': received('A test was asked for', 'TestEvent'),
};

function received(summary: string, schema: string): JsonSchema {
  return {
    post: {
      summary,
      tags: ['Webhooks'],
      description:
        'Answer with any 2xx within 15 seconds. Anything else is tried again for about three days, except 410, which disables ' +
        'the endpoint.',
      parameters: DELIVERY_HEADERS.map(([name, description]) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: text(),
      })),
      requestBody: { required: true, content: json(ref(schema)) },
      responses: { '2XX': { description: 'Received' }, '410': { description: 'Never send anything here again' } },
    },
  };
}
