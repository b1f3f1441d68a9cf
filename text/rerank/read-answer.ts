/** Answers of upstreams that rank documents: those of Cohere, and those in the shape of Jina. */
import { countOf, type JsonObject, objectOf } from '../../domain/json.ts';
import { type RerankOptions, UNREPORTED_USAGE } from '../canonical.ts';
import { throwIfError } from '../chat-completions/upstream.ts';
import type { Meter } from '../meter.ts';
import { estimateTokens } from '../token-estimate.ts';
import { malformedAnswer } from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { searchesOf } from './index.ts';

/** What the price of a model counts, which its answers report. */
export interface RankingCounts {
  readonly hasTokens: boolean;
  /** The searches that are held for; null if they have no price. */
  readonly maxSearches: number | null;
}

interface RankedDocument {
  readonly index: number;
  readonly relevance_score: number;
}

/**
 * The answer for the client, and its usage in the meter.
 *
 * @param model the client's name for the model
 * @throws ServiceError if the answer is an error, or ranks other documents than it was given
 */
export function readRanking(
  answer: unknown,
  { model, rerank }: { readonly model: string; readonly rerank: RerankOptions },
  counts: RankingCounts,
  meter: Meter,
): JsonObject {
  const body = objectOf(answer);
  throwIfError(body);
  const { documents, topN, returnsDocuments } = rerank;
  const ranked = readResults(body['results'], documents.length).slice(0, topN);
  measure(body, rerank, counts, meter);
  return {
    object: 'list',
    model,
    results: ranked.map((result) =>
      returnsDocuments ? { ...result, document: { text: documents[result.index] } } : result,
    ),
    ...(counts.maxSearches !== null && { meta: { billed_units: { search_units: meter.searchUnits } } }),
    ...(counts.hasTokens && { usage: { total_tokens: meter.charged().inputTotal ?? 0 } }),
  };
}

/** The results, best first. */
function readResults(results: unknown, documentCount: number): readonly RankedDocument[] {
  if (!Array.isArray(results) || results.length === 0) throw malformedAnswer();
  const seen = new Set<number>();
  const ranked = results.map((result: unknown): RankedDocument => {
    const { index, relevance_score: score } = objectOf(result);
    const isOfDocument = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < documentCount;
    const isScored = typeof score === 'number' && Number.isFinite(score);
    if (!isOfDocument || seen.has(index) || !isScored) throw malformedAnswer();
    seen.add(index);
    return { index, relevance_score: score };
  });
  return ranked.toSorted((a, b) => b.relevance_score - a.relevance_score);
}

/** Records the tokens and searches as reported; searches are counted here if the upstream reports none. */
function measure(body: JsonObject, rerank: RerankOptions, { maxSearches }: RankingCounts, meter: Meter): void {
  const meta = objectOf(body['meta']);
  const billed = objectOf(meta['billed_units']);
  const usage = objectOf(body['usage']);
  const inputTotal =
    readUsage(usage).inputTotal ||
    countOf(usage['total_tokens']) ||
    countOf(objectOf(meta['tokens'])['input_tokens']) ||
    countOf(billed['total_tokens']);
  if (inputTotal) meter.see({ type: 'usage', usage: { ...UNREPORTED_USAGE, inputTotal, outputTotal: 0 } });
  if (maxSearches !== null) {
    meter.searchUnits = Math.min(countOf(billed['search_units']) || estimateSearches(rerank), maxSearches);
  }
  meter.heard = true;
  meter.see({ type: 'finish', reason: 'stop' });
}

/** Estimates the tokens of all texts together, because one by one would take long. */
function estimateSearches({ query, documents }: RerankOptions): number {
  const texts = [query, ...documents];
  const tokensPerUnit = estimateTokens(texts) / texts.reduce((sum, { length }) => sum + length, 0);
  return searchesOf({ query, documents }, ({ length }) => length * tokensPerUnit);
}
