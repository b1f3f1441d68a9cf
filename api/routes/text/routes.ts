/** The endpoints of the text formats: contract 4.8. */
import { endpoints } from '../../endpoint/endpoint.ts';
import { badRequest } from '../../../domain/errors.ts';
import { arrayOf, ref, text } from '../../../domain/json-schema.ts';
import { embeddings } from '../../../text/embeddings/index.ts';
import { FORMATS } from '../../../text/formats.ts';
import { rerank } from '../../../text/rerank/index.ts';
import { transcriptions, translations } from '../../../text/voice/transcription.ts';
import type { RequestBody } from '../../endpoint/body.ts';
import { speech } from '../../../text/voice/speech.ts';
import { type Answers, EVENT_STREAM, json } from '../../endpoint/answers.ts';
import { textParameter } from '../../endpoint/query.ts';
import type { Context } from '../../state.ts';
import { textBody, textEndpoint } from './text-endpoint.ts';

/** @param schema the name of the whole answer's schema in the API description */
function wholeOrStreamed(schema: string): Answers {
  return {
    200: {
      description: 'The answer, whole or as a stream of server-sent events',
      content: { ...json(ref(schema)), ...EVENT_STREAM },
    },
  };
}

/** One of these headers is required: contract 9. The vendor's own clients send the second. */
const VERSION_HEADERS = ['msgfmt-version', 'anthropic-version'];

const TRANSCRIPT: Answers = {
  200: {
    description: 'The transcript, in the requested format',
    content: { ...json(ref('Transcript')), 'text/plain': { schema: text() }, ...EVENT_STREAM },
  },
};

/** A form with a file. @param schema its name in the API description */
function audioForm(schema: string): RequestBody<void> {
  return {
    description: { required: true, content: { 'multipart/form-data': { schema: ref(schema) } } },
    read: async () => {},
  };
}

const NATIVE_BODY = textBody('GenerateContentRequest', {
  contents: [{ role: 'user', parts: [{ text: 'Name three lighthouses.' }] }],
});

export const textEndpoints = endpoints('Text', {
  createChatCompletion: textEndpoint({
    request: 'POST /v1/chat/completions',
    access: 'text-key',
    format: FORMATS['chat-completions'],
    summary: 'Create a chat completion',
    description:
      'With `stream: true`: `chat.completion.chunk` objects as `data:` lines, reasoning in `delta.reasoning_content` before the ' +
      'text in `delta.content`, a last object with `finish_reason`, then `data: [DONE]`.',
    body: textBody('ChatCompletionRequest', {
      model: 'textc-M3',
      messages: [{ role: 'user', content: 'Name three lighthouses.' }],
    }),
    answers: wholeOrStreamed('ChatCompletion'),
  }),
  createResponse: textEndpoint({
    request: 'POST /v1/responses',
    access: 'text-key',
    format: FORMATS.responses,
    summary: 'Create a response',
    description:
      'Send the whole conversation in `input`; on models with full compatibility, `previous_response_id` may stand for its beginning. With `stream: true`: `response.created`, ' +
      '`response.output_text.delta`, `response.function_call_arguments.delta`, …, `response.completed`.',
    body: textBody('ResponsesRequest', { model: 'textg-6-luna', input: 'Name three lighthouses.' }),
    answers: wholeOrStreamed('ResponsesResponse'),
  }),
  createMessage: textEndpoint({
    request: 'POST /v1/messages',
    access: 'messages-key',
    format: FORMATS.messages,
    summary: 'Create a message',
    description:
      'With `stream: true`: `message_start`, then `content_block_start`, `content_block_delta` and `content_block_stop` for each ' +
      'block, `message_delta` with the stop reason, `message_stop`.',
    headers: [
      {
        name: 'msgfmt-version',
        in: 'header',
        required: true,
        description: 'The version of the format',
        schema: text(undefined, { minLength: 1 }),
        example: '2023-06-01',
      },
    ],
    body: textBody('MessagesRequest', {
      model: 'textl-v4.1-flash',
      max_tokens: 1_000,
      messages: [{ role: 'user', content: 'Name three lighthouses.' }],
    }),
    answers: wholeOrStreamed('Message'),
    read: ({ context }) => {
      requireVersion(context);
      return { parseContext: { betas: context.headers['anthropic-beta'] } };
    },
  }),
  generateContent: textEndpoint({
    request: 'POST /v1beta/models/{model}:generateContent',
    alias: '/v1/models/{model}:generateContent',
    access: 'native-key',
    format: FORMATS['generate-content'],
    summary: 'Generate content in the native format of the texth family',
    description: 'Reasoning precedes the answer and counts towards `maxOutputTokens`: set a limit with room for both.',
    body: NATIVE_BODY,
    answers: { 200: { description: 'The answer', content: json(ref('GenerateContentResponse')) } },
    read: ({ params: { model } }) => ({ parseContext: { address: { model, stream: false } } }),
  }),
  streamGenerateContent: textEndpoint({
    request: 'POST /v1beta/models/{model}:streamGenerateContent',
    alias: '/v1/models/{model}:streamGenerateContent',
    access: 'native-key',
    format: FORMATS['generate-content'],
    summary: 'Stream content in the native format of the texth family',
    description:
      'With `alt=sse`, each event is a `data:` line with an object like the answer of `:generateContent`. Without `alt=sse`, the objects ' +
      'arrive as items of one JSON array. The last object has `finishReason`.',
    query: { alt: textParameter('`sse` for server-sent events') },
    body: NATIVE_BODY,
    answers: {
      200: {
        description: 'The answer as a stream',
        content: { ...json(arrayOf(ref('GenerateContentResponse'))), ...EVENT_STREAM },
      },
    },
    read: ({ params: { model }, query: { alt } }) => ({
      parseContext: { address: { model, stream: true } },
      streamsArray: alt !== 'sse',
    }),
  }),
  createEmbeddings: textEndpoint({
    request: 'POST /v1/embeddings',
    access: 'text-key',
    format: embeddings,
    summary: 'Create embeddings',
    description: 'Takes up to 2,048 inputs, and a model whose `formats` are `embeddings`.',
    body: textBody('EmbeddingsRequest', { model: 'textm-embed', input: 'Name three lighthouses.' }),
    answers: { 200: { description: 'The vectors, one for each input', content: json(ref('EmbeddingsResponse')) } },
  }),
  createRanking: textEndpoint({
    request: 'POST /v1/rerank',
    alias: '/v2/rerank',
    access: 'text-key',
    format: rerank,
    summary: 'Rank documents by a query',
    description: 'Takes up to 1,000 documents, and a model whose `formats` are `rerank`.',
    body: textBody('RerankRequest', {
      model: 'textm-rerank',
      query: 'Which birds nest on cliffs?',
      documents: ['Gannets nest on cliffs.', 'Lighthouses stand on cliffs.'],
      top_n: 1,
    }),
    answers: { 200: { description: 'The documents, best first', content: json(ref('RerankResponse')) } },
  }),
  createSpeech: textEndpoint({
    request: 'POST /v1/audio/speech',
    access: 'text-key',
    format: speech,
    summary: 'Speak a text',
    description:
      'Takes a model whose `formats` have `speech`. The file arrives while it is made: as bytes, or with `stream_format: sse` as ' +
      '`speech.audio.delta` events with Base64 and a last `speech.audio.done` with the usage.',
    body: textBody('SpeechRequest', { model: 'voice-tts', input: 'Good morning.', voice: 'alloy' }),
    answers: {
      200: {
        description: 'The file, or server-sent events',
        content: { 'audio/*': { schema: text(undefined, { format: 'binary' }) }, ...EVENT_STREAM },
      },
    },
  }),
  createTranscription: textEndpoint({
    request: 'POST /v1/audio/transcriptions',
    access: 'text-key',
    format: transcriptions,
    hasFile: true,
    summary: 'Transcribe speech',
    description: 'Takes a file of up to 100 MB, and a model whose `formats` have `transcriptions`.',
    body: audioForm('TranscriptionForm'),
    answers: TRANSCRIPT,
  }),
  createTranslation: textEndpoint({
    request: 'POST /v1/audio/translations',
    access: 'text-key',
    format: translations,
    hasFile: true,
    summary: 'Translate speech into English',
    description: 'Takes a file of up to 100 MB, and a model whose `formats` have `translations`.',
    body: audioForm('TranslationForm'),
    answers: TRANSCRIPT,
  }),
});

function requireVersion({ headers }: Context): void {
  if (VERSION_HEADERS.some((name) => headers[name])) return;
  throw badRequest('the header "msgfmt-version" is required, for example "msgfmt-version: 2023-06-01"');
}
