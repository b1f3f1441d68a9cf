/** Searches of the web that the operator's service runs inside a request, over upstreams that only call functions. */
import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { priceText } from '../../../domain/pricing.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { createAccount } from '../../support/factories.ts';
import { SEARCH_PRICE, SEARCH_PRICING, startTestSearch, type TestSearch } from '../../support/search-service.ts';
import { ASK, lastRow, startTestText, type TestText, textModel } from '../../support/text.ts';

const MAX_CALLS = 8;
const SOLD = { compatibility: 'full', pricing: SEARCH_PRICING, webSearch: { maxCalls: MAX_CALLS } } as const;
const MODELS = WIRE_FORMAT_NAMES.map((format) => textModel(`over-${format}`, [{ format, serverTools: false }], SOLD));

const SEARCHING: Readonly<Record<WireFormatName, JsonObject>> = {
  'chat-completions': { web_search_options: {} },
  responses: { tools: [{ type: 'web_search' }] },
  messages: { tools: [{ type: 'web_search_20260209', name: 'web_search', allowed_domains: ['example.com'] }] },
  'generate-content': { tools: [{ googleSearch: {} }] },
};
/** The records of a search for trains that clients of each format get. */
const RECORDS: Readonly<Record<WireFormatName, RegExp>> = {
  'chat-completions': /"url_citation":\{"url":"https:\/\/example.com\/trains\/1"/,
  responses: /"type":"web_search_call","status":"completed","action":\{"type":"search","query":"trains"/,
  messages:
    /"server_tool_use"[^]*"web_search_tool_result"[^]*"url":"https:\/\/example.com\/trains\/1"[^]*"web_search_requests":1/,
  'generate-content': /"groundingMetadata":\{"webSearchQueries":\["trains"\]/,
};

describe('a search service of the operator', () => {
  let search: TestSearch;
  let text: TestText;

  before(async () => {
    search = await startTestSearch();
    text = await startTestText({ models: MODELS, search: search.service });
  });
  beforeEach(() => {
    search.behaviour = 'found';
    search.onSearch = () => {};
    search.queries.length = 0;
  });
  after(async () => {
    await text.stop();
    await search.stop();
  });

  function ask(
    client: WireFormatName,
    upstream: WireFormatName,
    prompt: string,
    stream = false,
    more: JsonObject = {},
  ) {
    const { path, body } = ASK[client](`over-${upstream}`, prompt, stream);
    return text.post(path, { ...body, ...SEARCHING[client], ...more });
  }

  function expectExactCharge(row: Record<string, string>, searches: number): void {
    const usage = {
      inputTotal: Number(row['input_tokens']),
      cacheRead: Number(row['cache_read_tokens']),
      cacheWrite: Number(row['cache_write_tokens']),
      cacheWrite1h: 0,
      outputTotal: Number(row['output_tokens']),
    };
    expect(row['web_searches']).to.equal(String(searches));
    expect(BigInt(row['charge'] ?? '')).to.equal(
      priceText(SEARCH_PRICING, usage, 0).charge + BigInt(searches) * SEARCH_PRICE,
    );
  }

  for (const client of WIRE_FORMAT_NAMES) {
    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`searches for a client of ${client} over an upstream that speaks ${upstream}, whole and streamed`, async () => {
        // contract 4.8:45
        for (const stream of [false, true]) {
          const answer = await ask(client, upstream, '[sim:search=trains] Where?', stream);
          expect(answer.status).to.equal(200);
          const content = await answer.text();
          expect(content).to.match(RECORDS[client]);
          // The simulated model repeats the result of its call.
          if (!stream) expect(content).to.include('About trains.');
          const row = await lastRow(text);
          expect(row).to.include({ outcome: 'succeeded', calls: 2, upstream_format: upstream });
          expectExactCharge(row, 1);
        }
        expect(search.queries).to.have.length(2);
        expect(search.queries[0]).to.include({ query: 'trains' });
        if (client === 'messages') expect(search.queries[0]).to.deep.include({ include_domains: ['example.com'] });
      });
    }
  }

  it('does not run for requests whose model does not search', async () => {
    const answer = await ask('messages', 'responses', 'Say exactly: hello');
    expect(await answer.text())
      .to.include('hello')
      .and.not.include('server_tool_use');
    expect(search.queries).to.have.length(0);
    expect(await lastRow(text)).to.include({ calls: 1, web_searches: '0' });
  });

  it('runs at most five rounds of searches for a model that searches forever, and at most as many as the model sells', async () => {
    // contract 4.8:46
    for (const stream of [false, true]) {
      search.queries.length = 0;
      const answer = await ask('messages', 'chat-completions', '[sim:search=a+b+c,search_again] Where?', stream);
      expect(answer.status).to.equal(200);
      expect(await answer.text())
        .to.include('message')
        .and.include('max_uses_exceeded');
      const row = await lastRow(text);
      expect(search.queries).to.have.length(MAX_CALLS);
      expectExactCharge(row, MAX_CALLS);
      search.queries.length = 0;
      await (await ask('responses', 'messages', '[sim:search=a,search_again] Where?', stream)).text();
      expect(search.queries).to.have.length(5);
      expect(await lastRow(text)).to.include({ calls: 6, outcome: 'succeeded' });
    }
  });

  it('turns failures of the service into an error that the model reads, and charges no failed search', async () => {
    // contract 4.8:47
    for (const behaviour of ['failing', 'broken', 'huge'] as const) {
      search.behaviour = behaviour;
      const answer = await ask('messages', 'responses', '[sim:search=trains] Where?');
      expect(answer.status).to.equal(200);
      expect(await answer.text())
        .to.include('"error_code":"unavailable"')
        .and.include('The search failed');
      expectExactCharge(await lastRow(text), 0);
    }
    expect(text.logged()).to.include('the search service failed').and.not.include('search-token');
  });

  it('ends with a client that leaves during a search, who pays for the first round', async () => {
    // contract 8.3:12
    search.behaviour = 'hanging';
    const controller = new AbortController();
    search.onSearch = () => controller.abort();
    const { path, body } = ASK.messages('over-responses', '[sim:search=trains] Where?', true);
    await text
      .post(path, { ...body, ...SEARCHING.messages }, { signal: controller.signal })
      .then((answer) => answer.text())
      .catch(() => {});
    const row = await lastRow(text);
    expect(row).to.include({ outcome: 'disconnected', calls: 1 });
    expectExactCharge(row, 0);
  });

  it('charges both rounds and the search to a client that leaves in the second round', async () => {
    // contract 8.3:12
    const controller = new AbortController();
    const { path, body } = ASK.messages('over-responses', '[sim:search=trains,chunk_ms=20] Where?', true);
    const answer = await text.post(path, { ...body, ...SEARCHING.messages }, { signal: controller.signal });
    let received = '';
    const reading = (async () => {
      for await (const chunk of answer.body ?? []) {
        received += Buffer.from(chunk).toString();
        if (received.includes('text_delta')) controller.abort();
      }
    })();
    await reading.catch(() => {});
    expect(received).to.include('web_search_tool_result');
    const row = await lastRow(text);
    expect(row).to.include({ outcome: 'disconnected', calls: 2 });
    expectExactCharge(row, 1);
  });

  it('costs nothing if the second round fails, and records what the first one used', async () => {
    // contract 8.3:11
    await (await ask('messages', 'responses', '[sim:context=99999] Where?')).text();
    const limit = Number((await lastRow(text)).input_tokens) + 12;
    for (const stream of [false, true]) {
      const answer = await ask('messages', 'responses', `[sim:search=trains,context=${limit}] Where?`, stream);
      expect(answer.status).to.equal(stream ? 200 : 400);
      expect(await answer.text()).to.include('prompt is too long');
      const row = await lastRow(text);
      expect(row).to.include({ outcome: 'failed', charge: '0' });
      const failed = await text.database('failed_text_attempts').where({ text_request_id: row.id });
      expect(failed.map(({ web_searches }) => web_searches)).to.deep.equal(['1']);
    }
  });

  it('serves a request with 1,000 tools beside the search, and refuses one with 100,000', async () => {
    for (const [count, status] of [
      [1_000, 200],
      [100_000, 400],
    ] as const) {
      const tools = Array.from({ length: count }, (_, index) => ({ name: `t${index}`, input_schema: {} }));
      const all = { tools: [...(SEARCHING.messages['tools'] as object[]), ...tools] };
      const answer = await ask('messages', 'chat-completions', '[sim:search=trains] Where?', false, all);
      expect(answer.status).to.equal(status);
      if (status === 200) expect(await answer.text()).to.include('web_search_tool_result');
    }
  });

  it('searches no further where the balance does not cover another prompt', async () => {
    // contract 4.8:46
    // The hold of the request and its second prompt: the prices of eight searches, and little more.
    const { id } = await createAccount(text.database, { fundedUsd: 0.08006 });
    const apiKey = await text.createKey({}, id);
    const { path, body } = ASK.messages('over-responses', '[sim:search=a,search_again] Where?', false);
    const answer = await text.post(path, { ...body, ...SEARCHING.messages }, { apiKey });
    expect(answer.status).to.equal(200);
    await answer.text();
    expect(search.queries).to.have.length(1);
    const row = await lastRow(text);
    expect(row).to.include({ calls: 2, outcome: 'succeeded', absorbed: '0' });
    expectExactCharge(row, 1);
  });

  it('keeps the tools of the client, whose calls come back to it', async () => {
    const look = { name: 'look', description: 'Looks', input_schema: { type: 'object', properties: {} } };
    const tools = [...(SEARCHING.messages['tools'] as object[]), look];
    const answer = await ask('messages', 'chat-completions', '[sim:tool=look] Look!', false, { tools });
    expect(await answer.text())
      .to.include('"tool_use"')
      .and.include('"look"');
    expect(search.queries).to.have.length(0);
  });

  it('obeys a forced search, once', async () => {
    const choice = { tool_choice: { type: 'tool', name: 'web_search' } };
    const answer = await ask('messages', 'generate-content', 'Where?', false, choice);
    expect(await answer.text())
      .to.include('"end_turn"')
      .and.include('web_search_tool_result');
    expect(search.queries).to.have.length(1);
  });
});
