/**
 * Ranking, as Cohere and Jina answer: https://docs.cohere.com/reference/rerank, https://jina.ai/reranker. A document's score is
 * the share of the query's words that the document has.
 */
import { listOf, objectOf, stringOf } from '../../domain/json.ts';
import { conversationAbout } from './conversation.ts';
import { badRequest } from './failure.ts';
import { numberOf } from './fields.ts';
import type { SimulatedFormat } from './format.ts';
import { openaiCommon } from './openai.ts';

const MAX_DOCUMENTS = 1_000;
const DOCUMENTS_PER_SEARCH = 100;

export const rerank: SimulatedFormat = {
  ...openaiCommon,
  paths: ['/v1/rerank', '/v2/rerank'],

  open(input) {
    const body = objectOf(input);
    const [model, query] = [stringOf(body['model']), stringOf(body['query'])];
    const documents = listOf(body['documents']).map(stringOf);
    if (model === '' || query === '') throw badRequest('invalid request: model and query are required');
    if (documents.length === 0 || documents.length > MAX_DOCUMENTS) {
      throw badRequest('invalid request: list of documents must not be empty, and have at most 1000 items');
    }
    const wanted = wordsOf(query);
    const results = documents.map((text, index) => ({ index, relevance_score: shareOf(wanted, wordsOf(text)) }));
    return {
      conversation: conversationAbout([query, ...documents].join('\n'), { model, stream: false }),
      renderWhole: ({ usage }) => ({
        results: results.toSorted((a, b) => b.relevance_score - a.relevance_score).slice(0, numberOf(body['top_n'])),
        ...(usage !== null && {
          meta: { billed_units: { search_units: Math.ceil(documents.length / DOCUMENTS_PER_SEARCH) } },
          usage: { total_tokens: usage.input },
        }),
      }),
      renderStream: () => {
        throw badRequest('Rankings are not streamed.');
      },
    };
  },
};

/** The words without directives. */
function wordsOf(text: string): ReadonlySet<string> {
  return new Set(
    text
      .replaceAll(/\[sim:[^\]]*\]/g, '')
      .toLowerCase()
      .match(/\w+/g),
  );
}

function shareOf(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  return wanted.size === 0 ? 0 : [...wanted].filter((word) => words.has(word)).length / wanted.size;
}
