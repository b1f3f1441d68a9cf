/** Runs the searches of the web that a model asked for, by the operator's service, and shows them to the client. */
import type { Logger } from 'pino';
import type { CancelSignal } from '../../providers/text/cancel-signal.ts';
import type { SearchService } from '../../providers/search/search-service.ts';
import type { FoundOnWeb, WebSearch } from '../../text/canonical.ts';
import { resultText, type SearchRounds } from '../../text/search-rounds.ts';
import { maxTokenCount } from './bound-input.ts';

/** The rounds of an answer in which the model may search; in the round after them it has to answer. */
export const MAX_SEARCH_ROUNDS = 5;
/** A round that would start later has to answer, too. */
export const MAX_SEARCHING_MS = 300_000;
/** The most input tokens that the results of a round add to the next prompt. */
export const TOKENS_PER_ROUND = 20_000;

export interface SearchRun {
  readonly search: SearchService;
  readonly log: Logger;
  readonly requestId: string;
  readonly webSearch: WebSearch;
  /** The searches that the request may still have. */
  readonly searchesLeft: number;
  /** Cancelled when nobody needs the results. */
  readonly signals: readonly CancelSignal[];
  /** Sends a part of the client's stream. */
  readonly send: (pieces: readonly string[]) => Promise<void>;
}

/** @returns the number of searches that succeeded, which are charged */
export async function runSearches(rounds: SearchRounds, run: SearchRun): Promise<number> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const signal of run.signals) signal.listen(abort);
  if (run.signals.some(({ isCancelled }) => isCancelled)) abort();
  try {
    const { wanted } = rounds;
    await run.send(wanted.flatMap(({ callId, query }) => rounds.show({ type: 'web-search-start', id: callId, query })));
    const found = await Promise.all(
      wanted.map(({ query }, index) => searchOnce(query, index < run.searchesLeft, controller.signal, run)),
    );
    const shown = wanted.flatMap(({ callId: id }, index) => {
      const { query, results, error } = found[index] ?? NOTHING;
      const pages = results.filter(({ url }) => url !== '');
      return rounds.show({ type: 'web-search-end', id, query, results: pages, error });
    });
    await run.send(shown);
    const count = found.filter(({ error }) => error === undefined).length;
    const tokens = Math.floor(TOKENS_PER_ROUND / Math.max(wanted.length, 1));
    const texts = found.map((one) => ({
      text: cutToTokens(resultText(one), tokens),
      isError: one.error !== undefined,
    }));
    rounds.addResults(texts, count);
    return count;
  } finally {
    for (const signal of run.signals) signal.unlisten(abort);
  }
}

const NOTHING: FoundOnWeb = { query: '', results: [], error: 'unavailable' };

async function searchOnce(
  query: string,
  isPermitted: boolean,
  signal: AbortSignal,
  { search, log, requestId, webSearch }: SearchRun,
): Promise<FoundOnWeb> {
  if (!isPermitted) return { query, results: [], error: 'max_uses_exceeded' };
  if (query === '') return NOTHING;
  try {
    return { query, results: await search.search({ ...webSearch, query }, signal) };
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, request_id: requestId }, 'the search service failed');
    return { query, results: [], error: 'unavailable' };
  }
}

/** The beginning of a text that certainly has no more tokens. */
function cutToTokens(text: string, tokens: number): string {
  let cut = text;
  for (let count = maxTokenCount(cut); count > tokens; count = maxTokenCount(cut)) {
    cut = cut.slice(0, Math.floor((cut.length * tokens) / count));
  }
  return cut;
}
