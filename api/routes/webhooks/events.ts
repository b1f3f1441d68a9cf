/** The events that receivers get: contract 6. */
import { type JsonSchema, text } from '../../../domain/json-schema.ts';
import {
  BALANCE_EVENT,
  BATCH_EVENT,
  ENDPOINT_TEST_EVENT,
  LATE_EVENT,
  LATE_RESULT_EVENT,
  LOW_BALANCE_EVENT,
  TASK_EVENT,
} from '../../../domain/webhook-event.ts';
import { TEST_EVENT } from '../../../services/webhooks/test-event.ts';
import { json } from '../../endpoint/answers.ts';
import type { PathItems } from '../../openapi/operation.ts';

const DELIVERY_HEADERS: readonly (readonly [name: string, description: string])[] = [
  ['x-svc-event', 'The type of the event'],
  ['x-svc-timestamp', 'The time of this attempt, in Unix seconds. Reject attempts older than 5 minutes.'],
  [
    'x-svc-signature',
    'The hex HMAC-SHA256 of the timestamp, `.` and the raw body, keyed with the endpoint’s secret. Verify the raw bytes ' +
      'in constant time, before parsing.',
  ],
  ['webhook-id', 'The id of the event, the same in every attempt (Standard Webhooks)'],
  ['webhook-timestamp', 'The same as `x-svc-timestamp` (Standard Webhooks)'],
  ['webhook-signature', 'Standard Webhooks signatures: `v1,` followed by base64, separated by spaces'],
];

/** The `webhooks` section of the API description. */
export const EVENTS: PathItems = {
  ...received('task.succeeded', 'A task succeeded and its result is stored', TASK_EVENT.schema),
  ...received(
    'task.failed',
    'A task failed; its price is refunded. Not sent for a processing timeout.',
    TASK_EVENT.schema,
  ),
  ...received(
    LATE_RESULT_EVENT,
    'A result arrived after the refund of its task, and can be claimed. Sent to endpoints that subscribe.',
    LATE_EVENT.schema,
  ),
  ...received(
    LOW_BALANCE_EVENT,
    'The balance fell below the account’s threshold. Sent once each time, to endpoints that subscribe.',
    BALANCE_EVENT.schema,
  ),
  ...ofBatch('batch.completed', 'All requests of a batch have ended, and its files are stored.'),
  ...ofBatch('batch.failed', 'The input of a batch was refused.'),
  ...ofBatch('batch.expired', 'The window of a batch ended before all of its requests had started.'),
  ...ofBatch('batch.cancelled', 'A cancelled batch has ended, and its files are stored.'),
  ...ofBatch(
    'batch.paused',
    'No request of a batch can start, for want of money for example. The batch continues by itself.',
  ),
  ...received(ENDPOINT_TEST_EVENT, 'A client requested a test', TEST_EVENT.schema),
};

function ofBatch(type: string, summary: string): PathItems {
  return received(type, `${summary} Sent to endpoints that subscribe.`, BATCH_EVENT.schema);
}

function received(type: string, summary: string, schema: JsonSchema): PathItems {
  const post = {
    operationId: operationIdOf(type),
    summary,
    tags: ['Webhook events'],
    // The proof is the signature among the parameters.
    security: [],
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
  };
  return { [type]: { post } };
}

/** The id of the operation that receives a type of events: `onTaskSucceeded`. */
function operationIdOf(type: string): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `on${words.join('')}`;
}
