/**
 * Vertex AI: models of Google and of partners in a project. The upstream's address ends with the location.
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
 */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf } from '../../domain/json.ts';
import { compact } from '../read.ts';
import { mapItems } from '../map-json.ts';
import type { UpstreamRequest } from '../wire-format.ts';
import { pathOfModel, type Platform } from './platform.ts';

const ANTHROPIC_VERSION = 'vertex-2023-10-16';

export const vertex: Platform = {
  formats: ['chat-completions', 'messages', 'generate-content'],

  adapt(request, format) {
    if (format === 'messages') return claude(request);
    if (format === 'generate-content') return gemini(request);
    if (request.path === '/embeddings') return embeddings(request);
    return { ...request, path: `/endpoints/openapi${request.path}` };
  },

  // Streams in the form of a list have their errors in it.
  refusal: (body) => (Array.isArray(body) && body.length === 1 ? (body[0] as unknown) : body),
};

/** Claude takes the model in the path, and the version in the body. Only counts have the model in the body. */
function claude({ path, headers, body }: UpstreamRequest): UpstreamRequest {
  const { 'anthropic-version': _version, ...others } = headers;
  const { model, ...fields } = body;
  const publisher = '/publishers/anthropic/models';
  const sent = { anthropic_version: ANTHROPIC_VERSION, ...fields };
  if (path !== '/messages')
    return { path: `${publisher}/count-tokens:rawPredict`, headers: others, body: { ...sent, model } };
  const method = body['stream'] === true ? 'streamRawPredict' : 'rawPredict';
  return { path: `${publisher}/${pathOfModel(model)}:${method}`, headers: others, body: sent };
}

/** Gemini has the publisher in the path, and counts without an envelope. Every content needs a role. */
function gemini({ path, headers, body }: UpstreamRequest): UpstreamRequest {
  const { generateContentRequest: counted } = body;
  const { model: _model, ...fields } = isObject(counted) ? counted : body;
  const sent = mapItems(fields, 'contents', (content) => ({ role: 'user', ...content }));
  return { path: `/publishers/google${path.replaceAll('%40', '@')}`, headers, body: sent };
}

/** Later models than this one have no predictions. */
const LATER_GEMINI = /^gemini-embedding-(?!001)/;

/**
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 *
 * @throws ServiceError `bad_request` for token ids, and for several texts if the model takes one
 */
function embeddings({ headers, body }: UpstreamRequest): UpstreamRequest {
  const { model, input, dimensions } = body;
  const texts = Array.isArray(input) ? listOf(input) : [input];
  if (!texts.every((text) => typeof text === 'string')) {
    throw badRequest('"input" must be a text or texts: this model takes no token ids');
  }
  const parameters: JsonObject = compact({ outputDimensionality: dimensions });
  const path = `/publishers/google/models/${pathOfModel(model)}`;
  if (!LATER_GEMINI.test(String(model))) {
    return { path: `${path}:predict`, headers, body: { instances: texts.map((content) => ({ content })), parameters } };
  }
  // The parts of a content get one vector together: https://github.com/googleapis/python-genai/issues/2165
  if (texts.length > 1) throw badRequest('"input" accepts at most 1 item: this model takes one text per request');
  const content = { role: 'user', parts: texts.map((text) => ({ text })) };
  return { path: `${path}:embedContent`, headers, body: { content, ...parameters } };
}
