/** The operator's service for searches of the web: an HTTP address, or a server of the Model Context Protocol. */
import type { WebSearch, WebSearchResult } from '../../text/canonical.ts';

export interface SearchQuery extends Pick<WebSearch, 'allowedDomains' | 'blockedDomains' | 'place'> {
  readonly query: string;
}

export interface SearchService {
  /** @throws Error if the service fails, or is slower than a search may take */
  search(query: SearchQuery, signal: AbortSignal): Promise<readonly WebSearchResult[]>;
}

export interface SearchSettings {
  /** An address, which begins with `mcp+` for a server of the Model Context Protocol. */
  readonly url: string;
  readonly token: string | null;
}
