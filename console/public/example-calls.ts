/** A call of a model in each of its formats: contract 4.2, 4.3, 4.8 and 4.16. */
import { EXAMPLE_PICTURE_PATH, EXAMPLE_SPEECH_PATH } from '../../api/docs-address.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { RequestFormatName } from '../../domain/wire-format-name.ts';
import type { PublicModel } from '../../services/operations/public-offer.ts';
import { type Call, examplesOf } from '../pages/playground/calls.ts';
import { endpointOf, isMedia } from '../pages/playground/models.ts';

const PROMPT = 'A red kite over the sea';
const QUESTION = 'Why is the sea salty?';
const MESSAGES = [{ role: 'user', content: QUESTION }];

type Example = Omit<Call, 'url'> & { readonly path: string };

const fileCall = (path: string, model: string, publicUrl: string): Example => ({
  path,
  body: { model },
  result: ['text'],
  file: publicUrl + EXAMPLE_SPEECH_PATH,
});

const IN_FORMATS: Readonly<Record<RequestFormatName, (model: string, publicUrl: string) => Example>> = {
  'chat-completions': (model) => ({
    path: '/v1/chat/completions',
    body: { model, messages: MESSAGES },
    result: ['choices', 0, 'message', 'content'],
  }),
  responses: (model) => ({
    path: '/v1/responses',
    body: { model, input: QUESTION },
    result: ['output'],
  }),
  messages: (model) => ({
    path: '/v1/messages',
    headers: { 'msgfmt-version': '2023-06-01' },
    body: { model, max_tokens: 1_000, messages: MESSAGES },
    result: ['content'],
  }),
  'generate-content': (model) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
    body: { contents: [{ parts: [{ text: QUESTION }] }] },
    result: ['candidates'],
  }),
  embeddings: (model) => ({ path: '/v1/embeddings', body: { model, input: QUESTION }, result: ['data'] }),
  rerank: (model) => ({
    path: '/v1/rerank',
    body: { model, query: QUESTION, documents: ['Rivers carry salts to the sea.', 'Kites need wind.'] },
    result: ['results'],
  }),
  speech: (model) => ({
    path: '/v1/audio/speech',
    body: { model, voice: 'alloy', input: PROMPT },
    result: [],
    saveAs: 'speech.mp3',
  }),
  transcriptions: (model, publicUrl) => fileCall('/v1/audio/transcriptions', model, publicUrl),
  translations: (model, publicUrl) => fileCall('/v1/audio/translations', model, publicUrl),
  realtime: (model) => ({
    path: '/v1/realtime/client_secrets',
    body: { session: { type: 'realtime', model } },
    result: ['value'],
  }),
};

/** The path of a format's call. */
export function pathOf(format: RequestFormatName, model: string): string {
  return IN_FORMATS[format](model, '').path;
}

/** @param publicUrl the address of the API, without a trailing slash */
export function exampleCalls({ id, model }: PublicModel, publicUrl: string): readonly Call[] {
  const examples: readonly Example[] = isMedia(model)
    ? [{ ...endpointOf(model), body: mediaBody(id, model.images.required, publicUrl) }]
    : model.formats.map((format) => IN_FORMATS[format](id, publicUrl));
  return examples.map(({ path, ...call }) => ({ ...call, url: publicUrl + path }));
}

/** The first call of the first model that has any, in curl; undefined if none has. @param publicUrl as above */
export function firstExample(models: readonly PublicModel[], publicUrl: string): string | undefined {
  for (const model of models) {
    const [call] = exampleCalls(model, publicUrl);
    if (call) return examplesOf(call)[0]?.code;
  }
  return undefined;
}

function mediaBody(model: string, needsPicture: boolean, publicUrl: string): JsonObject {
  return { model, prompt: PROMPT, ...(needsPicture && { images: [publicUrl + EXAMPLE_PICTURE_PATH] }) };
}
