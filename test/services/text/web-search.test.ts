/** Searches of the web that upstreams run: for each format, whole and streamed, counted, charged and recorded. */
import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { priceText } from '../../../domain/pricing.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { SEARCH_PRICE, SEARCH_PRICING } from '../../support/search-service.ts';
import { ASK, lastRow, textModel, useTestText } from '../../support/text.ts';

const SOLD = { compatibility: 'full', pricing: SEARCH_PRICING, webSearch: { maxCalls: 3 } } as const;
/** The upstream has another name for the model, as resellers do. */
const MODELS = WIRE_FORMAT_NAMES.map((format) =>
  textModel(`search-${format}`, [{ format, model: 'demo-vendor' }], SOLD),
);
const UNSOLD = textModel('no-search', [{ format: 'messages' }], { compatibility: 'full' });
const WITHOUT_TOOLS = textModel('search-elsewhere', [{ format: 'messages', serverTools: false }], SOLD);

/** The fields of a client that lets the model search. */
const SEARCHING: Readonly<Record<WireFormatName, JsonObject>> = {
  'chat-completions': { web_search_options: {} },
  responses: { tools: [{ type: 'web_search' }], max_tool_calls: 7 },
  messages: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 7 }] },
  'generate-content': { tools: [{ google_search: {} }] },
};
/** What the client of each format gets of a search. */
const RECORDS: Readonly<Record<WireFormatName, RegExp>> = {
  'chat-completions': /"url_citation"/,
  responses: /"web_search_call"/,
  messages: /"server_tool_use"[^]*"web_search_tool_result"[^]*"web_search_requests":2/,
  'generate-content': /"webSearchQueries":\["trains","boats"\]/,
};

function request(format: WireFormatName, model: string, prompt: string, stream: boolean, more: JsonObject = {}) {
  const { path, body } = ASK[format](model, prompt, stream);
  return { path, body: { ...body, ...SEARCHING[format], ...more } };
}

describe('searches of the web', () => {
  const text = useTestText({ models: [...MODELS, UNSOLD, WITHOUT_TOOLS] });

  for (const format of WIRE_FORMAT_NAMES) {
    for (const stream of [false, true]) {
      it(`reach an upstream that speaks ${format}, ${stream ? 'streamed' : 'whole'}, and cost their price beside the tokens`, async () => {
        // contract 4.8:43 4.8:44 8.3:16
        const { path, body } = request(
          format,
          `search-${format}`,
          '[sim:search=trains+boats,say=Found] Where?',
          stream,
        );
        const answer = await text.post(path, body);
        expect(answer.status).to.equal(200);
        const content = await answer.text();
        expect(content).to.include('Found').and.match(RECORDS[format]);
        if (format !== 'responses') expect(content).to.not.include('demo-vendor');
        const searches = format === 'chat-completions' ? 1 : 2;
        const row = await lastRow(text);
        expect(row).to.include({ outcome: 'succeeded', upstream_format: format, web_searches: String(searches) });
        const tokens = { inputTotal: Number(row.input_tokens), outputTotal: Number(row.output_tokens) };
        const usage = { ...tokens, cacheRead: Number(row.cache_read_tokens), cacheWrite: 0, cacheWrite1h: 0 };
        const expected = priceText(SEARCH_PRICING, usage, 0).charge + BigInt(searches) * SEARCH_PRICE;
        expect(BigInt(row.charge)).to.equal(expected);
        expect(answer.headers.get('x-genway-ignored')).to.equal(null);
      });
    }
  }

  it('are bounded by the catalogue, and the hold covers their price', async () => {
    // contract 4.8:44 8.3:16
    for (const format of ['responses', 'messages'] as const) {
      const { path, body } = request(format, `search-${format}`, '[sim:search=a+b+c+d+e] Where?', false);
      expect((await text.post(path, body)).status).to.equal(200);
      expect(await lastRow(text)).to.include({ web_searches: '3' });
      const [sent] = await text.seen(1);
      expect(JSON.stringify(sent?.body)).to.match(/"(max_uses|max_tool_calls)":3/);
    }
  });

  it('of the native format, which has no bound, are held for as the catalogue says and charged as the upstream ran them', async () => {
    // contract 4.8:48 8.3:7
    for (const stream of [false, true]) {
      const prompt = '[sim:search=a+b+c+d+e] Where?';
      const { path, body } = request('generate-content', 'search-generate-content', prompt, stream, {
        generationConfig: { maxOutputTokens: 20 },
      });
      await (await text.post(path, body)).text();
      const row = await lastRow(text);
      expect(row).to.include({ web_searches: '5', absorbed: '0' });
      expect(BigInt(row.held) > 3n * SEARCH_PRICE).to.equal(true);
      expect(BigInt(row.charge) > 5n * SEARCH_PRICE).to.equal(true);
      expect(BigInt(row.excess)).to.equal(
        BigInt(row.charge) > BigInt(row.held) ? BigInt(row.charge) - BigInt(row.held) : 0n,
      );
    }
  });

  it('cost nothing if the upstream fails', async () => {
    // contract 8.3:11
    const failed = request(
      'messages',
      'search-messages',
      '[sim:search=trains,fail=processing_failed,fail_after=2]',
      true,
    );
    await (await text.post(failed.path, failed.body)).text();
    expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
  });

  it('keep their records for the next turn', async () => {
    const history = [
      { role: 'user', content: 'Where? [sim:say=There]' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } },
          { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
          { type: 'text', text: 'There' },
        ],
      },
      { role: 'user', content: 'Sure?' },
    ];
    const { path, body } = request('messages', 'search-messages', '', false, { messages: history });
    expect((await text.post(path, body)).status).to.equal(200);
    const [sent] = await text.seen(1);
    expect(JSON.stringify(sent?.body)).to.include('web_search_tool_result');
  });

  it('are refused on messages by models without them, and elsewhere left out and named', async () => {
    // contract 4.8:26
    for (const model of [UNSOLD.id, WITHOUT_TOOLS.id]) {
      for (const format of WIRE_FORMAT_NAMES) {
        const { path, body } = request(format, model, '[sim:search=trains,say=Found] Where?', false);
        const answer = await text.post(path, body);
        if (format === 'messages') {
          expect(answer.status).to.equal(400);
          expect(await answer.text())
            .to.include('offers no web search')
            .and.include('input_schema');
          continue;
        }
        expect(answer.status).to.equal(200);
        await answer.text();
        const named = { responses: 'tools.web_search, max_tool_calls', 'generate-content': 'tools.googleSearch' };
        expect(answer.headers.get('x-genway-ignored')).to.equal(format === 'chat-completions' ? null : named[format]);
        expect(await lastRow(text)).to.include({ web_searches: '0' });
        const [sent] = await text.seen(1);
        expect(JSON.stringify(sent?.body)).to.not.match(/web_search|googleSearch/);
      }
    }
  });
});
