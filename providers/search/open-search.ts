/** Opens the operator's service for searches of the web. */
import { createHttpSearch } from './http-search.ts';
import { createMcpSearch } from './mcp-search.ts';
import type { SearchService, SearchSettings } from './search-service.ts';

const MCP = 'mcp+';

export function openSearch({ url, token }: SearchSettings): SearchService {
  return url.startsWith(MCP) ? createMcpSearch(url.slice(MCP.length), token) : createHttpSearch(url, token);
}
