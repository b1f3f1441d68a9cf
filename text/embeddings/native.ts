/**
 * Google's calls for embeddings, in the native format: contract 4.8.4. Upstreams get the request that
 * `POST /v1/embeddings` would send them.
 * https://ai.google.dev/api/embeddings
 */
import { badRequest } from '../../domain/errors.ts';
import { EMBEDDINGS } from '../../domain/policy.ts';
import type { EmbeddingsOptions } from '../canonical.ts';
import { ignoredAs } from '../fields.ts';
import { closedNativeFields, nativeFields } from '../generate-content/names.ts';
import {
  arrayOf,
  compact,
  constrained,
  described,
  integerBetween,
  isSet,
  optional,
  readArray,
  reader,
  readString,
} from '../read.ts';
import type { SingleFormat, ParseContext } from '../wire-format.ts';
import { embeddings, noEmbeddingsError } from './index.ts';

const PARTS = constrained(arrayOf(closedNativeFields({ text: readString })), { minItems: 1 });

/** One text to embed. The body has no effect on the model: the path names it. */
export const readEmbedContent = closedNativeFields({
  content: nativeFields({ role: ignoredAs('string'), parts: PARTS }),
  outputDimensionality: optional(
    described(integerBetween(1, EMBEDDINGS.maxDimensions), 'The length of the vector, if the model has several'),
  ),
  model: ignoredAs('string'),
  taskType: ignoredAs('string'),
  title: ignoredAs('string'),
  autoTruncate: ignoredAs('boolean'),
});

type Content = ReturnType<typeof readEmbedContent>;

/** Counts the texts before it reads them. */
const readRequests = reader(
  { type: 'array', items: readEmbedContent.schema, minItems: 1, maxItems: EMBEDDINGS.maxInputs },
  (value, path): Content[] => {
    if (!isSet(value)) throw badRequest(`"${path}" is required`);
    if (Array.isArray(value) && value.length === 0) throw badRequest(`"${path}" requires at least 1 item`);
    if (Array.isArray(value) && value.length > EMBEDDINGS.maxInputs) {
      throw badRequest(`"${path}" accepts at most ${EMBEDDINGS.maxInputs} items`);
    }
    return readArray(value, path, readEmbedContent);
  },
);

export const readBatchEmbedContents = closedNativeFields({ requests: readRequests });

/** `:embedContent`: one vector. */
export const embedContentFormat = nativeFormat('embedding', (body) => [readEmbedContent(body, '')]);

/** `:batchEmbedContents`: several vectors. */
export const batchEmbedContentsFormat = nativeFormat('embeddings', (body) =>
  readBatchEmbedContents(body, '').get('requests'),
);

function nativeFormat(
  shape: EmbeddingsOptions['shape'],
  readContents: (body: unknown) => readonly Content[],
): SingleFormat {
  const parseRequest = (body: unknown, { address, compatibility }: ParseContext) => {
    // The specification has no such calls: its models answer 404, whatever the body is.
    if (compatibility !== 'full') throw noEmbeddingsError();
    const contents = readContents(body);
    const sent = compact({
      model: address?.model ?? '',
      input: contents.map(textOf),
      dimensions: dimensionsOf(contents),
    });
    const request = embeddings.client.parseRequest(sent, {});
    return { ...request, embeddings: request.embeddings && { ...request.embeddings, shape } };
  };
  return { ...embeddings, client: { ...embeddings.client, parseRequest } };
}

/** The texts of the parts, which get one vector together. */
function textOf(content: Content): string {
  const parts = content.get('content').get('parts');
  const text = parts.map((part) => part.get('text')).join('\n');
  if (text.trim() === '') throw badRequest(`"${content.at('content')}" must have text`);
  return text;
}

/** The upstream's request has one length for all vectors. */
function dimensionsOf(contents: readonly Content[]): number | undefined {
  const dimensions = contents[0]?.get('outputDimensionality');
  const other = contents.find((content) => content.get('outputDimensionality') !== dimensions);
  if (other === undefined) return dimensions;
  throw badRequest(`"${other.at('outputDimensionality')}" must be the same in all requests`);
}
