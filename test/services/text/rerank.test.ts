/** Ranking over real sockets: by the simulator, and by servers with answers that it never gives. */
import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { BODIES, RERANK } from '../../../domain/policy.ts';
import { completeRates } from '../../../domain/pricing.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { itRefusesRequests, lastRow, textModel, useTestText } from '../../support/text.ts';

const BY_SEARCH = 'textm-rerank';
const BY_TOKEN = 'textm-rerank-mini';
const PICO_USD_PER_SEARCH = 2_000_000_000n;
const PICO_USD_PER_TOKEN = 20_000n;
const QUERY = 'birds nest cliffs';
const DOCUMENTS = ['Lighthouses stand on cliffs.', 'Gannets are birds that nest on cliffs.', 'Ships sail.'];

interface Ranked {
  readonly object: string;
  readonly model: string;
  readonly results: readonly { readonly index: number; readonly relevance_score: number; readonly document?: object }[];
  readonly meta?: { readonly billed_units: { readonly search_units: number } };
  readonly usage?: { readonly total_tokens: number };
}

async function rankedIn(response: Response): Promise<Ranked> {
  const body = await response.text();
  expect(response.status, body).to.equal(200);
  return JSON.parse(body);
}

describe('POST /v1/rerank', () => {
  const text = useTestText();

  it('returns the best documents first, and charges each search', async () => {
    // contract 4.8.8:1 4.8.8:2 4.8.8:3 4.8.8:4 4.8.8:5 4.8.8:7 4.8.8:8
    const body = { model: BY_SEARCH, query: QUERY, documents: DOCUMENTS, top_n: 2, return_documents: true };
    const ranked = await rankedIn(await text.post('/v1/rerank', body));
    expect(ranked).to.deep.equal({
      object: 'list',
      model: BY_SEARCH,
      results: [
        { index: 1, relevance_score: 1, document: { text: DOCUMENTS[1] } },
        { index: 0, relevance_score: 1 / 3, document: { text: DOCUMENTS[0] } },
      ],
      meta: { billed_units: { search_units: 1 } },
    });
    const { return_documents: _own, ...sent } = body;
    expect((await text.seen(1))[0]?.body).to.deep.equal(sent);
    expect(await lastRow(text)).to.include({
      format: 'rerank',
      upstream_format: 'chat-completions',
      outcome: 'succeeded',
      streamed: false,
      estimated: false,
      search_units: '1',
      input_tokens: '0',
      charge: String(PICO_USD_PER_SEARCH),
    });
    expect(text.charges.at(-1)).to.include({ searchUnits: 1 });
  });

  it('charges tokens where they have the price, from clients of Cohere and with documents as objects', async () => {
    // contract 4.8.8:1 4.8.8:3 4.8.8:6 4.8.8:8
    const documents = DOCUMENTS.map((one) => ({ text: one }));
    const query = `${QUERY} [sim:prompt=70]`;
    const body = { model: BY_TOKEN, query, documents, max_tokens_per_doc: 512, priority: 0 };
    const response = await text.post('/v2/rerank', body);
    expect(response.headers.get('x-genway-ignored')).to.equal('priority');
    const ranked = await rankedIn(response);
    expect(ranked.results.map(({ index }) => index)).to.deep.equal([1, 0, 2]);
    expect(ranked)
      .to.deep.include({ usage: { total_tokens: 70 } })
      .and.not.have.property('meta');
    const expected = { model: BY_TOKEN, query, documents: DOCUMENTS, max_tokens_per_doc: 512 };
    expect((await text.seen(1))[0]?.body).to.deep.equal(expected);
    const charge = String(70n * PICO_USD_PER_TOKEN);
    expect(await lastRow(text)).to.include({ input_tokens: '70', search_units: '0', charge, estimated: false });
  });

  it('charges Genway’s own counts if the upstream reports none, and counts the query with each document', async () => {
    // contract 4.8.8:8 4.8.8:9
    const query = `${'Name the birds of the North Sea. '.repeat(20)}[sim:no_usage]`;
    const documents = Array<string>(150).fill('Gannets nest on cliffs.');
    const bySearch = await rankedIn(await text.post('/v1/rerank', { model: BY_SEARCH, query, documents }));
    expect(bySearch.meta).to.deep.equal({ billed_units: { search_units: 2 } });
    expect(await lastRow(text)).to.include({ search_units: '2', charge: String(2n * PICO_USD_PER_SEARCH) });
    const byToken = await rankedIn(await text.post('/v1/rerank', { model: BY_TOKEN, query, documents }));
    expect(byToken.usage?.total_tokens).to.be.within(150 * 150, 150 * 250);
    expect(await lastRow(text)).to.include({ estimated: true, input_tokens: String(byToken.usage?.total_tokens) });
  });

  const tooMany = Array(RERANK.maxDocuments + 1).fill('a');
  // contract 4.8.8:2 4.8.8:3 4.8.8:4 4.8.8:5
  itRefusesRequests(text, '/v1/rerank', [
    [{ query: 'a', documents: ['a'] }, '"model" is required'],
    [{ model: BY_SEARCH, documents: ['a'] }, '"query" is required'],
    [{ model: BY_SEARCH, query: '', documents: ['a'] }, '"query" must not be empty'],
    [{ model: BY_SEARCH, query: 'a' }, '"documents" is required'],
    [{ model: BY_SEARCH, query: 'a', documents: 'a' }, '"documents" must be an array'],
    [{ model: BY_SEARCH, query: 'a', documents: [] }, '"documents" requires at least 1 item'],
    [{ model: BY_SEARCH, query: 'a', documents: ['a', ''] }, '"documents[1]" must not be empty'],
    [{ model: BY_SEARCH, query: 'a', documents: ['a', 1] }, '"documents[1]" must be a string'],
    [{ model: BY_SEARCH, query: 'a', documents: [{ image: 'a' }] }, '"documents[0].text" is required'],
    [{ model: BY_SEARCH, query: 'a', documents: tooMany }, '"documents" accepts at most 1000 items'],
    [
      { model: BY_SEARCH, query: 'a', documents: Array(BODIES.embeddings.maxValues).fill(1) },
      'more than 310000 values',
    ],
    [{ model: BY_SEARCH, query: 'a', documents: ['a'], top_n: 0 }, '"top_n" must be'],
    [{ model: BY_SEARCH, query: 'a', documents: ['a'], return_documents: 1 }, '"return_documents" must be a boolean'],
    [{ model: BY_SEARCH, query: 'a', documents: ['a'], rank_fields: ['a'] }, 'unknown field: rank_fields'],
  ]);

  it('names the endpoint to use when the model and the endpoint do not match', async () => {
    // contract 4.8.8:10
    const refused = async (path: string, body: object) => {
      const response = await text.post(path, body);
      return [response.status, Object(await response.json()).error];
    };
    const chat = await refused('/v1/chat/completions', {
      model: BY_SEARCH,
      messages: [{ role: 'user', content: 'a' }],
    });
    expect(chat).to.containSubset([404, { code: 'not_found' }]);
    expect(Object(chat[1]).message).to.contain('use POST /v1/rerank');
    const other = await refused('/v1/rerank', { model: 'textc-M3', query: 'a', documents: ['a'] });
    expect(other).to.containSubset([404, { code: 'not_found' }]);
    expect(Object(other[1]).message).to.contain('"rerank" in "formats"');
  });

  it('fails in the envelope of chat completions, free of charge', async () => {
    // contract 4.8.8:10
    for (const [directive, status, code] of [
      ['status=500', 503, 'processing_failed'],
      ['fail=content_policy_violation', 400, 'content_policy_violation'],
      ['drop_after=0', 503, 'result_transfer_failed'],
    ] as const) {
      const body = { model: BY_SEARCH, query: `Hi [sim:${directive}]`, documents: ['a'] };
      const response = await text.post('/v1/rerank', body);
      const { error } = Object(await response.json());
      expect([response.status, error.code], directive).to.deep.equal([status, code]);
      expect(await lastRow(text), directive).to.include({ outcome: 'failed', charge: '0', search_units: '0' });
      text.resumeUpstreams();
    }
  });

  it('needs money for all searches that the documents may count as', async () => {
    const apiKey = await text.createKey({ usageLimit: 3n * PICO_USD_PER_SEARCH });
    const long = 'A gannet dives. '.repeat(400);
    const ask = (documents: readonly string[]) =>
      text.post('/v1/rerank', { model: BY_SEARCH, query: 'a', documents }, { apiKey });
    expect((await ask(Array(100).fill(long))).status).to.equal(402);
    expect((await ask(['a'])).status).to.equal(200);
  });
});

describe('the documents that an upstream ranks', () => {
  let answer: RequestListener = () => {};
  const one = useScriptedUpstream((request, response) => answer(request, response));
  const two = useScriptedUpstream((_request, response) => {
    response.end(JSON.stringify({ results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 5 } }));
  });
  const text = useTestText(() => {
    const routes = ['one', 'two'].map((provider) => ({ format: 'chat-completions' as const, provider, model: 'v' }));
    const rates = completeRates({ input: 10n, cachedInput: 10n, cacheWrite: 10n, cacheWrite1h: 10n, output: 0n });
    const settings = { formats: ['rerank'] as const, outputTokenLimit: 0, maxInputTokens: 100_000 };
    const pricing = { rates: { ...rates, searchUnit: 1_000n }, tiers: [], peaks: [] };
    return {
      upstreams: [
        { name: 'one', apiKeys: ['k'], baseUrls: one.baseUrls },
        { name: 'two', apiKeys: ['k'], baseUrls: two.baseUrls },
      ],
      models: [
        textModel('alone', routes.slice(0, 1), { ...settings, pricing }),
        textModel('in-pairs', routes, { ...settings, pricing }),
      ],
    };
  });

  beforeEach(() => text.resumeUpstreams());

  const ask = (model: string) => text.post('/v1/rerank', { model, query: 'Hi', documents: ['a', 'b'] });
  const answers = (status: number, body: object): void => {
    answer = (_request, response) => response.writeHead(status).end(JSON.stringify(body));
  };

  it('are charged by the counts of Cohere, within the hold', async () => {
    // contract 4.8.8:8
    const results = [
      { index: 1, relevance_score: 0.1 },
      { index: 0, relevance_score: 0.9 },
    ];
    answers(200, { results, meta: { billed_units: { search_units: 900 }, tokens: { input_tokens: 12 } } });
    const ranked = await rankedIn(await ask('alone'));
    expect(ranked.results.map(({ index }) => index)).to.deep.equal([0, 1]);
    expect(ranked).to.deep.include({ meta: { billed_units: { search_units: 1 } }, usage: { total_tokens: 12 } });
    expect(await lastRow(text)).to.include({ search_units: '1', input_tokens: '12', charge: '1120' });
  });

  for (const [what, results] of [
    ['an unknown document', [{ index: 2, relevance_score: 1 }]],
    [
      'a document twice',
      [
        { index: 0, relevance_score: 1 },
        { index: 0, relevance_score: 1 },
      ],
    ],
    ['a document without a score', [{ index: 0 }]],
    ['no document', []],
    ['nothing', 'none'],
  ] as const) {
    it(`take the next route if the answer ranks ${what}`, async () => {
      answers(200, { results });
      expect((await rankedIn(await ask('in-pairs'))).results).to.deep.equal([{ index: 0, relevance_score: 0.5 }]);
      text.resumeUpstreams();
      expect((await ask('alone')).status).to.equal(503);
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    });
  }

  for (const [status, body, expected] of [
    [400, { message: 'invalid request: query too long' }, 400],
    [401, { message: 'invalid api token' }, 503],
    [404, { message: "model 'v' not found" }, 503],
    [429, { message: 'You are using a Trial key' }, 429],
    [422, { detail: 'Validation error' }, 400],
  ] as const) {
    it(`are refused with ${expected} if Cohere or Jina refuse with ${status}`, async () => {
      answers(status, body);
      expect((await ask('alone')).status).to.equal(expected);
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    });
  }
});
