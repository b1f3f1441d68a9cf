/** A small search service for tests, which can also misbehave. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { completeRates, type TextPricing } from '../../domain/pricing.ts';
import { openSearch } from '../../providers/search/open-search.ts';
import type { SearchService } from '../../providers/search/search-service.ts';

export interface TestSearch {
  readonly url: string;
  readonly service: SearchService;
  /** The bodies of the searches so far. */
  readonly queries: Record<string, unknown>[];
  /** How the service answers; with two pages by default. */
  behaviour: 'found' | 'failing' | 'huge' | 'hanging' | 'broken';
  /** Called when a search arrives. */
  onSearch: () => void;
  stop(): Promise<void>;
}

/** In pico-USD. */
export const SEARCH_PRICE = 10_000_000_000n;
/** The prices of a model that searches. */
export const SEARCH_PRICING: TextPricing = {
  rates: completeRates({
    input: 1_000n,
    cachedInput: 100n,
    cacheWrite: 1_000n,
    cacheWrite1h: 2_000n,
    output: 5_000n,
    webSearch: SEARCH_PRICE,
  }),
  tiers: [],
  peaks: [],
};

const HUGE_BYTES = 50 * 2 ** 20;

function answer({ behaviour, queries }: TestSearch, response: ServerResponse): void {
  if (behaviour === 'failing') response.writeHead(500).end();
  else if (behaviour === 'broken') response.end('<html>');
  else if (behaviour === 'huge') response.end(`{"results":[],"x":"${'x'.repeat(HUGE_BYTES)}"}`);
  else response.end(JSON.stringify({ results: [1, 2].map((number) => resultOf(number, queries.at(-1)?.['query'])) }));
}

function resultOf(number: number, query: unknown): object {
  return {
    url: `https://example.com/${encodeURIComponent(String(query))}/${number}`,
    title: `Page ${number}`,
    content: `About ${String(query)}.`,
  };
}

export async function startTestSearch(): Promise<TestSearch> {
  const server = createServer((request, response) => {
    void receive(request, response);
  });
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    search.queries.push((await json(request)) as Record<string, unknown>);
    search.onSearch();
    if (search.behaviour !== 'hanging') answer(search, response);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/search`;
  const search: TestSearch = {
    url,
    service: openSearch({ url, token: 'search-token' }),
    queries: [],
    behaviour: 'found',
    onSearch: () => {},
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return search;
}
