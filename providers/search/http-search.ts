/** A search service at an HTTP address, with the request and answer of Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search */
import { boundedFetch, MAX_RESULTS, readResults, SEARCH_TIMEOUT_MS } from './read-results.ts';
import type { SearchService } from './search-service.ts';

export function createHttpSearch(url: string, token: string | null): SearchService {
  return {
    search: async ({ query, allowedDomains, blockedDomains, place }, signal) => {
      const response = await boundedFetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token !== null && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify({
          query: place === undefined ? query : `${query} (${place})`,
          max_results: MAX_RESULTS,
          ...(allowedDomains && { include_domains: allowedDomains }),
          ...(blockedDomains && { exclude_domains: blockedDomains }),
        }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(SEARCH_TIMEOUT_MS)]),
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`the search service answered ${response.status}`);
      }
      return readResults(await response.json());
    },
  };
}
