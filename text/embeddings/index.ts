/** Embeddings, as clients ask for them, and the requests to upstreams that speak chat completions: contract 4.8.5. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { ServiceError } from '../../domain/errors.ts';
import { objectOf } from '../../domain/json.ts';
import type { EmbeddingsOptions, TextRequest } from '../canonical.ts';
import { headersOf } from '../chat-completions/build-request.ts';
import { renderError } from '../chat-completions/errors.ts';
import { forwardedFields } from '../fields.ts';
import type { SingleFormat, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';
import { readRequest } from './request-shape.ts';

export const embeddings: SingleFormat = {
  name: 'embeddings',
  client: {
    keepAliveFrame: null,
    parseRequest,
    renderError,
    renderRefusal: presentTypedError,
    // Half of a JSON document has no place for an error.
    renderStreamError: () => null,
  },
};

export function noEmbeddingsError(): ServiceError {
  return new ServiceError(
    'not_found',
    'This model does not create embeddings. Use a model that GET /v1/models lists with "embeddings" in "formats".',
  );
}

function parseRequest(body: unknown): TextRequest {
  const { model, input, encoding_format: encoding = 'float', user } = readRequest(body, '').all();
  const { texts, ...counts } = input;
  return {
    model,
    stream: false,
    turns: [{ role: 'user', parts: texts.map((text) => ({ type: 'text', text })) }],
    tools: [],
    // Nothing is generated.
    sampling: { maxOutputTokens: 0 },
    userId: user,
    embeddings: { ...counts, encoding, shape: 'list', sent: objectOf(body) },
  };
}

/** The request with the upstream's name for the model. */
export function buildEmbeddingsRequest({ sent }: EmbeddingsOptions, options: UpstreamOptions): UpstreamRequest {
  return {
    path: '/embeddings',
    headers: headersOf(options),
    body: { ...forwardedFields(sent, readRequest), model: options.model },
  };
}
