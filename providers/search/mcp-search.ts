/** A search service that is a server of the Model Context Protocol, over Streamable HTTP. */
import { boundedFetch, readResultText, SEARCH_TIMEOUT_MS } from './read-results.ts';
import type { SearchService } from './search-service.ts';

/** Calls the first tool of the server whose name contains `search`, with the query as the argument that its schema requires. */
export function createMcpSearch(url: string, token: string | null): SearchService {
  return {
    search: async ({ query }, signal) => {
      // Loaded by the first search: few installations have one.
      const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'),
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ]);
      const limits = {
        timeout: SEARCH_TIMEOUT_MS,
        signal: AbortSignal.any([signal, AbortSignal.timeout(SEARCH_TIMEOUT_MS)]),
      };
      const client = new Client({ name: 'genway', version: '1' });
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        fetch: boundedFetch,
        requestInit: token === null ? {} : { headers: { authorization: `Bearer ${token}` } },
      });
      try {
        await client.connect(transport, limits);
        const { tools } = await client.listTools({}, limits);
        const tool = tools.find(({ name }) => /search/i.test(name));
        if (tool === undefined) throw new Error('the search service has no tool whose name contains "search"');
        const argument = tool.inputSchema.required?.[0] ?? 'query';
        const { content, isError } = await client.callTool(
          { name: tool.name, arguments: { [argument]: query } },
          undefined,
          limits,
        );
        if (isError === true) throw new Error('the tool of the search service failed');
        return readResultText(textOf(content), query);
      } finally {
        await client.close();
      }
    },
  };
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => String(Object(part).text ?? '')).join('\n');
}
