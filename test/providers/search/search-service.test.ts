import { createServer, type RequestListener } from 'node:http';
import { expect } from 'chai';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { openSearch } from '../../../providers/search/open-search.ts';
import { startTestSearch } from '../../support/search-service.ts';

const NEVER = new AbortController().signal;

async function rejection(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error: unknown) => String(error),
  );
}

async function during<Result>(listener: RequestListener, use: (url: string) => Promise<Result>): Promise<Result> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  try {
    return await use(`http://127.0.0.1:${port}/mcp`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A server with one tool. @param answer the text of its results */
function mcpServer(answer: (argument: unknown) => string): RequestListener {
  return (request, response) => {
    const server = new Server({ name: 'search', version: '1' }, { capabilities: { tools: {} } });
    const inputSchema = { type: 'object' as const, properties: { q: { type: 'string' } }, required: ['q'] };
    server.setRequestHandler(ListToolsRequestSchema, async () => ({
      tools: [
        { name: 'time', inputSchema: { type: 'object' as const } },
        { name: 'brave_web_search', inputSchema },
      ],
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => ({
      content: [{ type: 'text' as const, text: answer(params.arguments?.['q']) }],
    }));
    const transport = new StreamableHTTPServerTransport();
    void server
      .connect(transport as Parameters<typeof server.connect>[0])
      .then(() => transport.handleRequest(request, response));
  };
}

describe('a search service', () => {
  it('at an HTTP address gets the query, its bounds and the token, and returns pages', async () => {
    const search = await startTestSearch();
    try {
      const query = { query: 'trains', allowedDomains: ['a.example'], place: 'Oslo' };
      const found = await search.service.search(query, NEVER);
      expect(found[0]).to.deep.equal({
        url: 'https://example.com/trains%20(Oslo)/1',
        title: 'Page 1',
        text: 'About trains (Oslo).',
      });
      expect(search.queries[0]).to.deep.equal({
        query: 'trains (Oslo)',
        max_results: 10,
        include_domains: ['a.example'],
      });
      for (const [behaviour, words] of [
        ['failing', 'answered 500'],
        ['huge', 'too long'],
        ['broken', 'JSON'],
      ] as const) {
        search.behaviour = behaviour;
        expect(await rejection(search.service.search({ query: 'trains' }, NEVER)), behaviour).to.include(words);
      }
      search.behaviour = 'hanging';
      const controller = new AbortController();
      search.onSearch = () => controller.abort();
      expect(await rejection(search.service.search({ query: 'trains' }, controller.signal))).to.include('abort');
    } finally {
      await search.stop();
    }
  });

  it('does not follow redirects, which may lead anywhere', async () => {
    const redirect: RequestListener = (_request, response) =>
      response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    const search = (url: string) => rejection(openSearch({ url, token: null }).search({ query: 'a' }, NEVER));
    expect(await during(redirect, search)).to.include('fetch failed');
  });

  it('may be a server of the Model Context Protocol, whose search tool gets the query', async () => {
    const search = (url: string) =>
      openSearch({ url: `mcp+${url}`, token: 'secret' }).search({ query: 'trains' }, NEVER);
    const words = await during(
      mcpServer((query) => `Trains run. (${String(query)})`),
      search,
    );
    expect(words).to.deep.equal([{ url: '', title: 'trains', text: 'Trains run. (trains)' }]);
    const pages = [{ url: 'https://example.com', title: 'Trains', description: 'Run.' }];
    const listed = await during(
      mcpServer(() => JSON.stringify({ results: pages })),
      search,
    );
    expect(listed).to.deep.equal([{ url: 'https://example.com', title: 'Trains', text: 'Run.' }]);
  });
});
