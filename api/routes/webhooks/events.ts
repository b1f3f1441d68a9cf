/** The events that receivers get: contract 6. */
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import type { JsonSchema } from '../../../domain/json-schema.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import {
  type EventObject,
  LOW_BALANCE_EVENT,
  type LowBalanceObject,
  TASK_EVENTS,
} from '../../../domain/webhook-event.ts';
import { json } from '../../endpoint/answers.ts';
import {
  exactly,
  idOf,
  namedObject,
  object,
  objectOf,
  oneOfTexts,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';
import { TaskSchema } from '../tasks/present.ts';

const TEST_EVENT = 'endpoint.test';

const TaskEventSchema = namedObject<EventObject>(
  'TaskEvent',
  {
    id: idOf('event'),
    object: exactly('event'),
    type: oneOfTexts(TASK_EVENTS),
    created_at: unixSeconds('When it happened'),
    data: TaskSchema,
  },
  'An event, with the task as polling showed it at that moment.',
);

const LowBalanceEventSchema = namedObject<EventObject<LowBalanceObject>>('LowBalanceEvent', {
  id: idOf('event'),
  object: exactly('event'),
  type: exactly(LOW_BALANCE_EVENT),
  created_at: unixSeconds('When it was found to be low'),
  data: objectOf<LowBalanceObject>({
    object: exactly('balance'),
    account_id: idOf('account'),
    available_usd: usd('Available to spend'),
    reserved_usd: usd('Held for running tasks and requests'),
    low_balance_usd: usd('The threshold, below which the sum of both fell'),
  }),
});

const TestEventSchema = namedObject<ReturnType<typeof presentTestEvent>>('TestEvent', {
  id: idOf('event'),
  object: exactly('event'),
  type: exactly(TEST_EVENT),
  created_at: unixSeconds('When the test was requested'),
  data: object({ id: idOf('webhookEndpoint'), object: exactly('webhook_endpoint'), url: text() }),
});

/** A test event. It concerns no task, so its data is the endpoint. */
export function presentTestEvent(id: string, createdAt: Date, endpoint: WebhookEndpoint) {
  return {
    id,
    object: 'event',
    type: TEST_EVENT,
    created_at: toUnixSeconds(createdAt),
    data: { id: endpoint.id, object: 'webhook_endpoint', url: endpoint.url },
  };
}

const DELIVERY_HEADERS: readonly (readonly [name: string, description: string])[] = [
  ['x-svc-event', 'The type of the event'],
  ['x-svc-timestamp', 'Unix seconds of this attempt. Reject attempts older than 5 minutes.'],
  [
    'x-svc-signature',
    'Hex HMAC-SHA256 of timestamp, `.` and the raw body, keyed with the endpoint’s secret. Verify the raw bytes before ' +
      'parsing them, in constant time.',
  ],
  ['webhook-id', 'The same in every attempt of a delivery (Standard Webhooks)'],
  ['webhook-timestamp', 'The same as `x-svc-timestamp` (Standard Webhooks)'],
  ['webhook-signature', 'Standard Webhooks signatures: `v1,` followed by base64, separated by spaces'],
];

/** The `webhooks` section of the API description. */
export const EVENTS: Readonly<Record<string, JsonSchema>> = {
  'task.succeeded': received('A task succeeded and its result is stored', TaskEventSchema),
  'task.failed': received('A task failed; its price is refunded. Not sent for a processing timeout.', TaskEventSchema),
  [LOW_BALANCE_EVENT]: received(
    'The balance fell below the threshold of the account, once each time. Sent to endpoints that ask for it.',
    LowBalanceEventSchema,
  ),
  [TEST_EVENT]: received('A test was requested', TestEventSchema),
};

function received(summary: string, schema: JsonSchema): JsonSchema {
  return {
    post: {
      summary,
      tags: ['Webhooks'],
      description:
        'Answer with any 2xx within 15 seconds. Any other outcome is retried for about three days, except 410, which disables ' +
        'the endpoint.',
      parameters: DELIVERY_HEADERS.map(([name, description]) => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: text(),
      })),
      requestBody: { required: true, content: json(schema) },
      responses: { '2XX': { description: 'Received' }, '410': { description: 'Disables the endpoint' } },
    },
  };
}
