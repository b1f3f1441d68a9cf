/** The endpoints of embeddings in the native format: contract 4.8. */
import { endpoints } from '../../endpoint/endpoint.ts';
import { ref } from '../../../domain/json-schema.ts';
import { batchEmbedContentsFormat, embedContentFormat } from '../../../text/embeddings/native.ts';
import { json } from '../../endpoint/answers.ts';
import { textBody, textEndpoint } from './text-endpoint.ts';

const NATIVE_EMBEDDINGS = 'Takes a model whose `formats` are `embeddings`. `taskType` and `title` have no effect.';

export const nativeEmbeddingsEndpoints = endpoints('Text', {
  embedContent: textEndpoint({
    request: 'POST /v1beta/models/{model}:embedContent',
    alias: '/v1/models/{model}:embedContent',
    access: 'native-key',
    format: embedContentFormat,
    summary: 'Create an embedding in the native format',
    description: NATIVE_EMBEDDINGS,
    body: textBody('EmbedContentRequest', { content: { parts: [{ text: 'Name three lighthouses.' }] } }),
    answers: { 200: { description: 'The vector', content: json(ref('EmbedContentResponse')) } },
    read: ({ params: { model } }) => ({ parseContext: { address: { model, stream: false } } }),
  }),
  batchEmbedContents: textEndpoint({
    request: 'POST /v1beta/models/{model}:batchEmbedContents',
    alias: '/v1/models/{model}:batchEmbedContents',
    access: 'native-key',
    format: batchEmbedContentsFormat,
    summary: 'Create several embeddings in the native format',
    description: NATIVE_EMBEDDINGS,
    body: textBody('BatchEmbedContentsRequest', {
      requests: [{ content: { parts: [{ text: 'Name three lighthouses.' }] } }],
    }),
    answers: { 200: { description: 'The vectors, in order', content: json(ref('BatchEmbedContentsResponse')) } },
    read: ({ params: { model } }) => ({ parseContext: { address: { model, stream: false } } }),
  }),
});
