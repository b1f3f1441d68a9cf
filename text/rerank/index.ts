/** Requests to rank documents by a query, in the shape of Cohere and Jina, and the requests to upstreams: contract 4.8.8. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { badRequest } from '../../domain/errors.ts';
import { RERANK } from '../../domain/policy.ts';
import type { RerankOptions, TextRequest } from '../canonical.ts';
import { headersOf } from '../chat-completions/build-request.ts';
import { renderError } from '../chat-completions/errors.ts';
import { fields, forwardedFields, forwardedAs, ignoredAs } from '../fields.ts';
import {
  described,
  integerBetween,
  isSet,
  join,
  optional,
  readArray,
  readBoolean,
  reader,
  readName,
  readObject,
  readText,
} from '../read.ts';
import { unusedFields } from '../unused-fields.ts';
import type { SingleFormat, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';

const DOCUMENT_SCHEMA = {
  oneOf: [readText.schema, { type: 'object', properties: { text: readText.schema }, required: ['text'] }],
};

/** Counts the documents before it reads them. */
const readDocuments = reader(
  { type: 'array', items: DOCUMENT_SCHEMA, minItems: 1, maxItems: RERANK.maxDocuments },
  (value, path): readonly string[] => {
    if (!isSet(value)) throw badRequest(`"${path}" is required`);
    if (!Array.isArray(value)) throw badRequest(`"${path}" must be an array of texts`);
    if (value.length === 0) throw badRequest(`"${path}" requires at least 1 item`);
    if (value.length > RERANK.maxDocuments) throw badRequest(`"${path}" accepts at most ${RERANK.maxDocuments} items`);
    return readArray(value, path, readDocument);
  },
);

function readDocument(value: unknown, path: string): string {
  if (typeof value !== 'object' || value === null) return readText(value, path);
  return readText(readObject(value, path)['text'], join(path, 'text'));
}

export const readRequest = fields(
  {
    model: readName,
    query: described(readText, 'What the documents should be about'),
    documents: described(readDocuments, 'Texts, or objects with a `text`'),
    top_n: optional(described(integerBetween(1, null), 'How many of the documents to return; all by default')),
    return_documents: optional(described(readBoolean, 'Whether the results have the texts; they do not by default')),
    // Upstreams cut documents by these, each by its own.
    max_tokens_per_doc: forwardedAs('number'),
    truncation: forwardedAs('boolean'),
    priority: ignoredAs('number'),
  },
  { unknown: 'refuse' },
);

export const rerank: SingleFormat = {
  name: 'rerank',
  client: {
    keepAliveFrame: null,
    parseRequest,
    renderError,
    renderRefusal: presentTypedError,
    renderStreamError: () => null,
  },
};

function parseRequest(body: unknown): TextRequest {
  const sent = readObject(body, '');
  const read = readRequest(sent, '');
  const request = read.all();
  const {
    model,
    query,
    documents,
    top_n: topN = documents.length,
    return_documents: returnsDocuments = false,
  } = request;
  return {
    model,
    stream: false,
    turns: [{ role: 'user', parts: [query, ...documents].map((text) => ({ type: 'text', text })) }],
    tools: [],
    // Nothing is generated.
    sampling: { maxOutputTokens: 0 },
    unused: unusedFields(read.unused()),
    rerank: { query, documents, topN, returnsDocuments, sent },
  };
}

/** Genway adds the documents to the results itself, because some upstreams refuse to return them. */
export function buildRerankRequest({ documents, sent }: RerankOptions, options: UpstreamOptions): UpstreamRequest {
  const { return_documents: _own, ...fields } = forwardedFields(sent, readRequest);
  return {
    path: '/rerank',
    headers: headersOf(options),
    body: { ...fields, documents, model: options.model },
  };
}

/** A search ranks up to so many documents. A longer document counts as several: https://cohere.com/pricing */
const DOCUMENTS_PER_SEARCH = 100;
/** The tokens of the query and a document that are ranked together by the vendor with the shortest context. */
const TOKENS_PER_DOCUMENT = 510;
/** However long the query is. */
const MIN_TOKENS_PER_DOCUMENT = TOKENS_PER_DOCUMENT / 2;

/** The searches that a request counts as. @param countTokens of a text */
export function searchesOf(
  { query, documents }: Pick<RerankOptions, 'query' | 'documents'>,
  countTokens: (text: string) => number,
): number {
  const room = Math.max(TOKENS_PER_DOCUMENT - countTokens(query), MIN_TOKENS_PER_DOCUMENT);
  const parts = documents.reduce((sum, text) => sum + Math.max(Math.ceil(countTokens(text) / room), 1), 0);
  return Math.ceil(parts / DOCUMENTS_PER_SEARCH);
}
