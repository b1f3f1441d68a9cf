/** The text endpoints: specification section 4.8. */
import type { Catalogue } from '../../catalogue/types.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { arrayOf, type JsonSchema, ref, text } from './json-schema.ts';
import { json, type RefusalStatus } from '../endpoint/answers.ts';
import { jsonBody, type Operation, REFUSALS } from './operation.ts';
import { EXAMPLE_REQUEST_ID, exampleError, query, refusalOf } from './shared.ts';
import { TEXT_ANSWER_SCHEMAS } from './text-answers.ts';
import { textRequestSchemas } from './text-requests.ts';

export function textSchemas(catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  return { ...textRequestSchemas(catalogue), ...TEXT_ANSWER_SCHEMAS };
}

/** What comes from the gate before the model is called has the common envelope; these also come from behind it. */
const STATUSES_IN_BOTH: readonly RefusalStatus[] = [429, 500, 503];

interface FormatEnvelope {
  readonly schema: string;
  readonly exampleOf: (code: ErrorCode, message: string) => unknown;
}

const withRequestId = (message: string): string => `${message} (request id: ${EXAMPLE_REQUEST_ID})`;

const ENVELOPES: readonly FormatEnvelope[] = [
  {
    schema: 'SvcError',
    exampleOf: (code, message) => ({ error: { message: withRequestId(message), type: 'svc_error', code } }),
  },
  {
    schema: 'MessagesError',
    exampleOf: (type, message) => ({ type: 'error', error: { type, message: withRequestId(message) } }),
  },
];

function responseName(schema: string, status: RefusalStatus): string {
  return `${schema}.${REFUSALS[status]}`;
}

/** The refusals that have, or can have, the envelope of a format: specification section 7.1. */
export const TEXT_RESPONSES: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  ENVELOPES.flatMap(({ schema, exampleOf }) => [
    [responseName(schema, 400), refusalOf(400, ref(schema), exampleOf)],
    ...STATUSES_IN_BOTH.map((status) => [
      responseName(schema, status),
      refusalOf(status, { oneOf: [ref('Error'), ref(schema)] }, exampleError),
    ]),
  ]),
);

function refusalsIn(schema: string): Partial<Record<RefusalStatus, string>> {
  return Object.fromEntries(
    [400 as const, ...STATUSES_IN_BOTH].map((status) => [status, responseName(schema, status)]),
  );
}

/** Has no schema: up to OpenAPI 3.1 it is open whether one would describe the stream or each of its events. */
const EVENT_STREAM = { 'text/event-stream': {} };
const TEXT_REFUSALS: readonly RefusalStatus[] = [402, 404, 503];

const answerOf = (schema: string) => ({
  200: {
    description: 'The answer, whole or as a stream of server-sent events',
    content: { ...json(ref(schema)), ...EVENT_STREAM },
  },
});

const NATIVE_BODY = jsonBody(ref('GenerateContentRequest'), {
  text: { value: { contents: [{ role: 'user', parts: [{ text: 'Name three lighthouses.' }] }] } },
});

export const TEXT_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/chat/completions',
    id: 'createChatCompletion',
    tag: 'Text',
    summary: 'Chat-completions format',
    description:
      'With `stream: true`: `chat.completion.chunk` objects as `data:` lines, reasoning in `delta.reasoning_content` before the ' +
      'text in `delta.content`, a last one with `finish_reason`, then `data: [DONE]`.',
    access: 'key',
    body: jsonBody(ref('ChatCompletionRequest'), {
      text: { value: { model: 'textc-M3', messages: [{ role: 'user', content: 'Name three lighthouses.' }] } },
    }),
    answers: answerOf('ChatCompletion'),
    refusals: TEXT_REFUSALS,
    refusalsInFormat: refusalsIn('SvcError'),
  },
  {
    method: 'post',
    path: '/v1/responses',
    id: 'createResponse',
    tag: 'Text',
    summary: 'Responses format',
    description:
      'Nothing is stored: the whole conversation goes in `input` each time. With `stream: true`: `response.created`, ' +
      '`response.output_text.delta`, `response.function_call_arguments.delta`, …, `response.completed`.',
    access: 'key',
    body: jsonBody(ref('ResponsesRequest'), {
      text: { value: { model: 'textg-6-luna', input: 'Name three lighthouses.' } },
    }),
    answers: answerOf('Response'),
    refusals: TEXT_REFUSALS,
    refusalsInFormat: refusalsIn('SvcError'),
  },
  {
    method: 'post',
    path: '/v1/messages',
    id: 'createMessage',
    tag: 'Text',
    summary: 'Messages format',
    description:
      'With `stream: true`: `message_start`, then `content_block_start`, `content_block_delta` and `content_block_stop` for each ' +
      'block, `message_delta` with the stop reason, `message_stop`.',
    access: 'messages-key',
    parameters: [
      {
        name: 'msgfmt-version',
        in: 'header',
        required: true,
        description: 'The version of the format',
        schema: text(undefined, { minLength: 1 }),
        example: '2023-06-01',
      },
    ],
    body: jsonBody(ref('MessagesRequest'), {
      text: {
        value: {
          model: 'textl-v4.1-flash',
          max_tokens: 1_000,
          messages: [{ role: 'user', content: 'Name three lighthouses.' }],
        },
      },
    }),
    answers: answerOf('Message'),
    refusals: TEXT_REFUSALS,
    refusalsInFormat: refusalsIn('MessagesError'),
  },
  {
    method: 'post',
    path: '/v1beta/models/{model}:generateContent',
    id: 'generateContent',
    tag: 'Text',
    summary: 'Native format of the texth family',
    description: 'The models think before they answer, within `maxOutputTokens`: leave room for it.',
    access: 'native-key',
    body: NATIVE_BODY,
    answers: { 200: { description: 'The answer', content: json(ref('GenerateContentResponse')) } },
    refusals: TEXT_REFUSALS,
    refusalsInFormat: refusalsIn('SvcError'),
  },
  {
    method: 'post',
    path: '/v1beta/models/{model}:streamGenerateContent',
    id: 'streamGenerateContent',
    tag: 'Text',
    summary: 'Native format of the texth family, as a stream',
    description:
      'With `alt=sse` each event is a `data:` line with an object as `:generateContent` answers; without it these objects are ' +
      'the items of a JSON array, sent as they come. The last has `finishReason`.',
    access: 'native-key',
    parameters: [query('alt', '`sse` for server-sent events', text())],
    body: NATIVE_BODY,
    answers: {
      200: {
        description: 'The answer as a stream',
        content: { ...json(arrayOf(ref('GenerateContentResponse'))), ...EVENT_STREAM },
      },
    },
    refusals: TEXT_REFUSALS,
    refusalsInFormat: refusalsIn('SvcError'),
  },
];
