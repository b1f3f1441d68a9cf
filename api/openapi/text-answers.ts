/** Answers of the text formats: contract 4.8 and 7.1. Forwarded answers may have more fields. */
import { ERRORS } from '../../domain/errors.ts';
import {
  ANY_OBJECT,
  arrayOf,
  component,
  exactly,
  fieldsOf,
  integer,
  type JsonSchema,
  nullable,
  object,
  objectOf,
  oneOfTexts,
  optional,
  text,
  unixSeconds,
} from '../../domain/json-schema.ts';
import type { ChatFinishReason, ChatFunctionCall, ChatToolCall, ChatUsage } from '../../text/chat-completions/types.ts';
import type { FinishReasonOnWire, UsageMetadata } from '../../text/generate-content/types.ts';
import type { MessagesStopReason, MessagesUsage } from '../../text/messages/types.ts';
import type { ResponseUsage } from '../../text/responses/types.ts';

const code = oneOfTexts(Object.keys(ERRORS), 'The code of the error, for programs');
const message = text('The cause and the remedy, ending with the request id');

const chatFinishReasons: readonly ChatFinishReason[] = ['stop', 'length', 'tool_calls', 'function_call'];
const stopReasons: readonly MessagesStopReason[] = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'];
const finishReasons: readonly FinishReasonOnWire[] = ['STOP', 'MAX_TOKENS'];

const modalityCounts = arrayOf(object({ modality: oneOfTexts(['TEXT', 'AUDIO']), tokenCount: integer() }));

const NATIVE_VECTOR = component('ContentEmbedding', object({ values: arrayOf({ type: 'number' }) }));

const WAIT = optional(integer('The time to wait, in seconds, as in `Retry-After`'));

export const TEXT_ANSWER_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ChatCompletion: object({
    id: text(),
    object: exactly('chat.completion'),
    created: unixSeconds('When the request started'),
    model: text(),
    choices: arrayOf(
      object({
        index: integer(),
        message: object({
          role: exactly('assistant'),
          content: nullable(text('The text. Empty if reasoning used all tokens')),
          reasoning_content: optional(text('The reasoning of the model, billed as output')),
          audio: optional(
            object(
              {
                id: text('The name by which later requests refer to the audio'),
                data: text('Base64, in the requested format'),
                transcript: text(),
                expires_at: unixSeconds('When the model forgets the name'),
              },
              'The audio. Only if the request asks for audio',
            ),
          ),
          tool_calls: optional(
            arrayOf(
              objectOf<ChatToolCall>({
                id: text(),
                type: exactly('function'),
                function: object({ name: text(), arguments: text('The arguments as JSON') }),
                extra_content: optional(object({}, 'Send it back with the call')),
              }),
            ),
          ),
          function_call: optional(
            objectOf<ChatFunctionCall>(
              { name: text(), arguments: text('The arguments as JSON') },
              'The function call. Only if the request has `functions`',
            ),
          ),
        }),
        finish_reason: oneOfTexts(chatFinishReasons, '`function_call` only if the request has `functions`'),
      }),
    ),
    usage: objectOf<ChatUsage>({
      prompt_tokens: integer(),
      completion_tokens: integer(),
      total_tokens: integer(),
      prompt_tokens_details: optional(
        object({
          cached_tokens: optional(integer()),
          cache_write_tokens: optional(integer()),
          audio_tokens: optional(integer()),
        }),
      ),
      completion_tokens_details: optional(
        object({ reasoning_tokens: optional(integer()), audio_tokens: optional(integer()) }),
      ),
    }),
  }),
  ResponsesResponse: object({
    id: text(),
    object: exactly('response'),
    created_at: unixSeconds('When the request started'),
    completed_at: optional(nullable(unixSeconds('When the answer was complete. Null until then'))),
    instructions: optional({ description: 'The instructions of the request. Null if there are none' }),
    metadata: optional(nullable({ ...ANY_OBJECT, description: 'The metadata of the request' })),
    model: text(),
    status: oneOfTexts(['completed', 'incomplete']),
    incomplete_details: nullable(object({ reason: exactly('max_output_tokens') })),
    output: arrayOf({
      oneOf: [
        object({
          type: exactly('message'),
          id: text(),
          status: text(),
          role: exactly('assistant'),
          content: arrayOf(object({ type: exactly('output_text'), text: text() })),
        }),
        object({
          type: exactly('reasoning'),
          id: text(),
          summary: arrayOf(object({ type: exactly('summary_text'), text: text() })),
        }),
        object({
          type: exactly('function_call'),
          id: text(),
          status: text(),
          call_id: text(),
          name: text(),
          arguments: text('The arguments as JSON'),
        }),
        object({
          type: exactly('web_search_call'),
          id: text(),
          status: text(),
          action: optional(object({ type: exactly('search'), query: optional(text()) })),
        }),
      ],
    }),
    usage: objectOf<ResponseUsage>({
      input_tokens: integer(),
      input_tokens_details: object({ cached_tokens: integer(), cache_write_tokens: optional(integer()) }),
      output_tokens: integer(),
      output_tokens_details: object({ reasoning_tokens: integer() }),
      total_tokens: integer(),
    }),
  }),
  Message: object({
    id: text(),
    type: exactly('message'),
    role: exactly('assistant'),
    model: text(),
    content: arrayOf({
      oneOf: [
        object({ type: exactly('text'), text: text() }),
        object({ type: exactly('thinking'), thinking: text(), signature: text() }),
        object({ type: exactly('redacted_thinking'), data: text() }),
        object({ type: exactly('tool_use'), id: text(), name: text(), input: ANY_OBJECT }),
        object({ type: exactly('server_tool_use'), id: text(), name: exactly('web_search'), input: ANY_OBJECT }),
        object({
          type: exactly('web_search_tool_result'),
          tool_use_id: text(),
          content: {
            oneOf: [
              arrayOf(
                object({ type: exactly('web_search_result'), url: text(), title: text(), encrypted_content: text() }),
              ),
              object({ type: exactly('web_search_tool_result_error'), error_code: text() }),
            ],
          },
        }),
      ],
    }),
    stop_reason: oneOfTexts(stopReasons),
    stop_sequence: nullable(text('The stop sequence that ended the answer. Null if none did')),
    usage: objectOf<MessagesUsage>({
      input_tokens: integer('The input tokens, except tokens read from or written to the cache'),
      cache_creation_input_tokens: optional(integer()),
      cache_creation: optional(
        object(
          { ephemeral_5m_input_tokens: integer(), ephemeral_1h_input_tokens: integer() },
          'The tokens written to the cache, by cache lifetime',
        ),
      ),
      cache_read_input_tokens: optional(integer()),
      output_tokens: integer(),
      output_tokens_details: optional(object({ thinking_tokens: integer() })),
      server_tool_use: optional(object({ web_search_requests: integer() }, 'The searches of the web')),
    }),
  }),
  GenerateContentResponse: object({
    candidates: arrayOf(
      object({
        content: object({
          role: exactly('model'),
          parts: optional({
            ...arrayOf({
              oneOf: [
                object({ text: text() }),
                object({ inlineData: object({ mimeType: text(), data: text('Base64') }) }),
                object({
                  functionCall: object({ id: optional(text()), name: text(), args: ANY_OBJECT }),
                  thoughtSignature: optional(text()),
                }),
              ],
            }),
            description: 'The content. May be absent if reasoning used all tokens',
          }),
        }),
        finishReason: optional({
          ...oneOfTexts(finishReasons),
          description: 'The reason. Present in whole answers and in the last object of a stream',
        }),
        index: integer(),
      }),
    ),
    usageMetadata: object({
      ...fieldsOf<Omit<UsageMetadata, 'candidatesTokenCount'>>({
        promptTokenCount: integer(),
        cachedContentTokenCount: optional(integer()),
        thoughtsTokenCount: optional(integer()),
        totalTokenCount: integer(),
        promptTokensDetails: optional(modalityCounts),
        candidatesTokensDetails: optional(modalityCounts),
      }),
      // Genway always sends it, but forwards the answers of upstreams that omit it when it is 0.
      candidatesTokenCount: optional(integer()),
    }),
    modelVersion: text(),
    responseId: text(),
  }),
  EmbeddingsResponse: object({
    object: exactly('list'),
    data: arrayOf(
      object({
        object: exactly('embedding'),
        index: integer('The position among the inputs'),
        embedding: {
          oneOf: [arrayOf({ type: 'number' }), text('Base64 of 32-bit floats, little-endian')],
        },
      }),
    ),
    model: text(),
    usage: object({ prompt_tokens: integer(), total_tokens: integer() }),
  }),
  RerankResponse: object({
    object: exactly('list'),
    model: text(),
    results: arrayOf(
      object({
        index: integer('The position among the documents'),
        relevance_score: { type: 'number' },
        document: optional(object({ text: text() })),
      }),
    ),
    meta: optional(object({ billed_units: object({ search_units: integer() }) })),
    usage: optional(object({ total_tokens: integer() })),
  }),
  Transcript: object(
    {
      text: text(),
      usage: optional(ANY_OBJECT),
      duration: optional({ type: 'number' }),
      language: optional(text()),
      segments: optional(arrayOf(ANY_OBJECT)),
      words: optional(arrayOf(ANY_OBJECT)),
    },
    'Further fields as the upstream sends them, by `response_format`',
  ),
  EmbedContentResponse: object({ embedding: NATIVE_VECTOR }),
  BatchEmbedContentsResponse: object({ embeddings: arrayOf(NATIVE_VECTOR) }),
  SvcError: object(
    { error: object({ message, type: exactly('svc_error'), code, retry_after_seconds: WAIT }) },
    'The error envelope of the chat-completions, responses and native formats, and of the kinds of requests with one format.',
  ),
  MessagesError: object(
    {
      type: exactly('error'),
      error: object({
        type: code,
        message,
        retry_after_seconds: WAIT,
        details: optional({
          ...ANY_OBJECT,
          description: 'Details for SDKs of the format. Only if `thread` is refused',
        }),
      }),
    },
    'The error envelope of the messages format.',
  ),
};
