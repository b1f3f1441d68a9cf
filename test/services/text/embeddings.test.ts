/** Embeddings over real sockets: from the simulator, and from servers with answers that it never gives. */
import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import OpenAI from 'openai';
import { BODIES, EMBEDDINGS } from '../../../domain/policy.ts';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { eventually, itRefusesRequests, lastRow, textModel, useTestText } from '../../support/text.ts';

const MODEL = 'textm-embed';
/** How long an upstream of the tests may be silent before its first vector. */
const SILENCE_MS = 250;
const PICO_USD_PER_TOKEN = 20_000n;

interface Embedded {
  readonly object: string;
  readonly model: string;
  readonly data: readonly { readonly index: number; readonly embedding: number[] | string }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

async function embeddedIn(response: Response): Promise<Embedded> {
  const body = await response.text();
  expect(response.status, body).to.equal(200);
  expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  return JSON.parse(body);
}

describe('POST /v1/embeddings', () => {
  const text = useTestText();

  it('returns the same vectors in base64, which the OpenAI SDK requests, as in numbers', async () => {
    // contract 4.8.5:4 4.8.5:5 4.8.5:6 4.8.5:7 4.8.5:8
    const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
    const input = ['A lighthouse', 'A red kite'];
    const inBase64 = await openai.embeddings.create({ model: MODEL, input });
    expect((await text.seen(1))[0]?.body).to.deep.equal({ model: MODEL, input, encoding_format: 'base64' });
    const asNumbers = await openai.embeddings.create({ model: MODEL, input, encoding_format: 'float' });
    expect(inBase64.data.map(({ index }) => index)).to.deep.equal([0, 1]);
    expect(inBase64.data[0]?.embedding).to.have.length(1_536);
    expect(inBase64.data.map(({ embedding }) => [...embedding])).to.deep.equal(
      asNumbers.data.map(({ embedding }) => embedding),
    );
    const short = await openai.embeddings.create({ model: MODEL, input: 'A lighthouse', dimensions: 8, user: 'u' });
    expect(short.data[0]?.embedding).to.have.length(8);
    expect(short).to.deep.include({ object: 'list', model: MODEL });
  });

  for (const { what, input, count, tokens } of [
    { what: 'a text', input: 'A red kite over the sea [sim:prompt=7]', count: 1, tokens: 7 },
    { what: 'several texts', input: ['One [sim:prompt=11]', 'Two', 'Three'], count: 3, tokens: 11 },
    { what: 'the token ids of a text', input: [15339, 1917, 13], count: 1, tokens: 3 },
    { what: 'the token ids of several texts', input: [[15339, 1917], [13]], count: 2, tokens: 3 },
    {
      what: 'as many texts as there may be',
      input: Array(EMBEDDINGS.maxInputs).fill('a [sim:prompt=9]'),
      count: 2048,
      tokens: 9,
    },
  ]) {
    it(`accepts ${what}, and charges the input tokens once`, async () => {
      // contract 4.8.5:1 4.8.5:3 4.8.5:9
      const { data, usage } = await embeddedIn(
        await text.post('/v1/embeddings', { model: MODEL, input, dimensions: 4 }),
      );
      expect(data).to.have.length(count);
      expect(usage).to.deep.equal({ prompt_tokens: tokens, total_tokens: tokens });
      expect(await lastRow(text)).to.include({
        format: 'embeddings',
        upstream_format: 'chat-completions',
        outcome: 'succeeded',
        streamed: false,
        estimated: false,
        input_tokens: String(tokens),
        output_tokens: '0',
        charge: String(BigInt(tokens) * PICO_USD_PER_TOKEN),
      });
    });
  }

  it('charges Genway’s own count if the upstream reports none', async () => {
    const input = ['Name three lighthouses of the North Sea.', 'And one of the Baltic [sim:no_usage]'];
    const { usage } = await embeddedIn(await text.post('/v1/embeddings', { model: MODEL, input, dimensions: 4 }));
    expect(usage.prompt_tokens).to.be.within(15, 30);
    expect(await lastRow(text)).to.include({ estimated: true, input_tokens: String(usage.prompt_tokens) });
  });

  const tooMany = Array(EMBEDDINGS.maxInputs + 1).fill('a');
  // contract 4.8.5:1 4.8.5:2 4.8.5:3 4.8.5:4 4.8.5:5 8.2:3
  itRefusesRequests(text, '/v1/embeddings', [
    [{ input: 'a' }, '"model" is required'],
    [{ model: MODEL }, '"input" is required'],
    [{ model: MODEL, input: '' }, '"input" must not be empty'],
    [{ model: MODEL, input: [] }, '"input" requires at least 1 item'],
    [{ model: MODEL, input: { text: 'a' } }, '"input" must be a string or an array'],
    [{ model: MODEL, input: ['a', ''] }, '"input[1]" must not be empty'],
    [{ model: MODEL, input: ['a', 1] }, '"input[1]" must be a string'],
    [{ model: MODEL, input: [1, 'a'] }, '"input[1]" must be an integer'],
    [{ model: MODEL, input: [[1], []] }, '"input[1]" requires at least 1 item'],
    [{ model: MODEL, input: [[1], [1.5]] }, '"input[1][0]" must be an integer'],
    [{ model: MODEL, input: [[1], [-1]] }, '"input[1][0]" must be between 0 and'],
    [{ model: MODEL, input: [null] }, '"input[0]" is required'],
    [{ model: MODEL, input: tooMany }, '"input" accepts at most 2048 items'],
    [{ model: MODEL, input: Array(BODIES.embeddings.maxValues).fill(1) }, 'more than 310000 values'],
    [{ model: MODEL, input: 'a', encoding_format: 'int8' }, '"encoding_format" must be one of: [float base64]'],
    [{ model: MODEL, input: 'a', dimensions: 0 }, '"dimensions" must be between 1 and 65536'],
    [{ model: MODEL, input: 'a', stream: true }, 'unknown field: stream'],
  ]);

  it('names the endpoint or list to use when the model and the endpoint do not match', async () => {
    // contract 4.8.5:2 4.8.5:12
    const refused = async (path: string, body: object) => {
      const response = await text.post(path, body);
      return [response.status, Object(await response.json()).error];
    };
    const chat = await refused('/v1/chat/completions', { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] });
    expect(chat).to.containSubset([404, { code: 'not_found' }]);
    expect(Object(chat[1]).message).to.contain('use POST /v1/embeddings');
    const other = await refused('/v1/embeddings', { model: 'textc-M3', input: 'Hi' });
    expect(other).to.containSubset([404, { code: 'not_found' }]);
    expect(Object(other[1]).message).to.contain('GET /v1/models');
    expect(await refused('/v1/embeddings', { model: 'nothing', input: 'Hi' })).to.containSubset([
      404,
      { code: 'not_found' },
    ]);
  });

  it('the list of models has the model for embeddings', async () => {
    // contract 2.8:4
    const response = await fetch(`${text.baseUrl}/v1/models/${MODEL}`, {
      headers: { authorization: `Bearer ${text.apiKey}` },
    });
    expect(await response.json()).to.containSubset({
      id: MODEL,
      kind: 'text',
      formats: ['embeddings'],
      limits: { context_tokens: 8192, max_output_tokens: null },
      prices: { input: 0.02, output: 0 },
    });
  });

  it('enforces the models, the limit and the rate of its key, and the balance', async () => {
    // contract 4.8.5:1
    const statusWith = async (apiKey: string, input: unknown = 'Hi') =>
      (await text.post('/v1/embeddings', { model: MODEL, input }, { apiKey })).status;
    expect(await statusWith('sk-unknown')).to.equal(401);
    expect(await statusWith(await text.createKey({ models: ['textc-M3'] }))).to.equal(403);
    expect(await statusWith(await text.createKey({ usageLimit: 1n }))).to.equal(402);
    await awaitRoomInMinute(text.database);
    const slow = await text.createKey({ rateLimitRpm: 1 });
    expect([await statusWith(slow), await statusWith(slow)]).to.deep.equal([200, 429]);
  });

  it('fails in the envelope of chat completions, free of charge', async () => {
    // contract 4.8.5:1 7.1:3
    for (const [directive, status, code] of [
      ['status=500', 503, 'processing_failed'],
      ['fail=content_policy_violation', 400, 'content_policy_violation'],
      ['drop_after=0', 503, 'result_transfer_failed'],
      ['malformed_after=0', 503, 'result_transfer_failed'],
    ] as const) {
      const response = await text.post('/v1/embeddings', {
        model: MODEL,
        input: `Hi [sim:${directive}]`,
        dimensions: 4,
      });
      const { error } = Object(await response.json());
      expect([response.status, error.type, error.code], directive).to.deep.equal([status, 'svc_error', code]);
      expect(await lastRow(text), directive).to.include({ outcome: 'failed', error_code: code, charge: '0' });
      text.resumeUpstreams();
    }
  });
});

describe('embeddings of an upstream', () => {
  let answer: RequestListener = () => {};
  let asked: string[] = [];

  let sent = '';
  const one = useScriptedUpstream((request, response, body) => {
    asked.push('one');
    sent = body;
    answer(request, response);
  });
  const two = useScriptedUpstream((_request, response) => {
    asked.push('two');
    response.end(answerOf([[0.5]], { usage: { prompt_tokens: 3, total_tokens: 3 } }));
  });
  const text = useTestText(() => {
    const upstream = { apiKeys: ['k'] } as const;
    const routesTo = (...providers: readonly string[]) =>
      providers.map((provider) => ({ format: 'chat-completions' as const, provider, model: 'vendor-model' }));
    return {
      settings: { readOnMs: 100 },
      upstreams: [
        { name: 'one', ...upstream, baseUrls: one.baseUrls },
        { name: 'silent', ...upstream, baseUrls: one.baseUrls, silenceTimeoutMs: SILENCE_MS },
        { name: 'two', ...upstream, baseUrls: two.baseUrls },
      ],
      models: [
        textModel('alone', routesTo('one'), { formats: ['embeddings'] }),
        textModel(
          'own-fields',
          routesTo('one').map((route) => ({
            ...route,
            drop: ['encoding_format', 'truncate'],
            rename: { dimensions: 'output_dimension' },
          })),
          { formats: ['embeddings'] },
        ),
        textModel('in-pairs', routesTo('one', 'two'), { formats: ['embeddings'] }),
        textModel('over-silent', routesTo('silent', 'two'), { formats: ['embeddings'] }),
      ],
    };
  });

  beforeEach(() => {
    text.resumeUpstreams();
    asked = [];
  });

  const answerOf = (vectors: readonly unknown[], rest: object = {}): string =>
    JSON.stringify({
      object: 'list',
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      model: 'vendor-model',
      ...rest,
    });
  const always =
    (body: string): RequestListener =>
    (_request, response) =>
      response.end(body);
  const ask = (fields: object, model = 'alone') => text.post('/v1/embeddings', { model, input: 'Hi', ...fields });

  it('embeddings are converted to the requested encoding if the upstream ignored it', async () => {
    // contract 4.8.5:4
    const floats = [0.25, -1.5, 3];
    const base64 = Buffer.from(Float32Array.from(floats).buffer).toString('base64');
    for (const [sent, encoding_format, expected] of [
      [floats, 'base64', base64],
      [base64, 'float', floats],
      [floats, undefined, floats],
    ] as const) {
      answer = always(answerOf([sent]));
      const { data, model } = await embeddedIn(await ask({ encoding_format }));
      expect(data).to.deep.equal([{ object: 'embedding', index: 0, embedding: expected }]);
      expect(model).to.equal('alone');
    }
  });

  it('embeddings have the requested encoding over a route that drops the field, and the fields that the route renames', async () => {
    // contract 4.8.5:70
    const base64 = Buffer.from(Float32Array.from([0.5]).buffer).toString('base64');
    answer = always(answerOf([[0.5]]));
    const fields = { encoding_format: 'base64', dimensions: 1, truncate: 'END' };
    const response = await ask(fields, 'own-fields');
    expect(response.headers.get('x-genway-ignored')).to.equal('truncate');
    expect((await embeddedIn(response)).data).to.deep.equal([{ object: 'embedding', index: 0, embedding: base64 }]);
    expect(JSON.parse(sent)).to.deep.equal({ model: 'vendor-model', input: 'Hi', output_dimension: 1 });
  });

  it('with only a total in their usage are charged by the total', async () => {
    answer = always(answerOf([[1]], { usage: { total_tokens: 12 } }));
    expect((await embeddedIn(await ask({}))).usage).to.deep.equal({ prompt_tokens: 12, total_tokens: 12 });
    expect(await lastRow(text)).to.include({ input_tokens: '12', estimated: false });
  });

  it('reach the client before the upstream has finished, so that no process holds them all', async () => {
    // contract 4.8.5:10
    let finish = (): void => expect.fail();
    answer = (_request, response) => {
      const whole = answerOf([[1], [2]], { usage: { prompt_tokens: 2, total_tokens: 2 } });
      response.write(whole.slice(0, whole.indexOf(',{"object":"embedding","index":1')));
      finish = () => response.end(whole.slice(whole.indexOf(',{"object":"embedding","index":1')));
    };
    const response = await ask({ input: ['a', 'b'] });
    finish();
    expect((await embeddedIn(response)).data).to.have.length(2);
  });

  it('come from the next upstream when the first is silent before its first vector, and fail when it is silent later', async () => {
    answer = () => {};
    await embeddedIn(await ask({}, 'over-silent'));
    expect(asked).to.deep.equal(['one', 'two']);
    answer = (_request, response) => {
      const whole = answerOf([[1], [2]]);
      response.write(whole.slice(0, whole.indexOf(',{"object":"embedding","index":1')));
      setTimeout(() => response.end(whole.slice(whole.indexOf(',{"object":"embedding","index":1'))), 2 * SILENCE_MS);
    };
    // On a busy machine, the first vector may come too late.
    await eventually(async () => {
      text.resumeUpstreams();
      asked = [];
      const { data } = await embeddedIn(await ask({ input: ['a', 'b'] }, 'over-silent'));
      return data.length === 2 && asked.join() === 'one';
    });
  });

  for (const [what, broken, code] of [
    ['an error inside a success', '{"error":{"message":"secret","code":"content_filter"}}', 'content_policy_violation'],
    ['a page', '<html></html>', 'processing_failed'],
    ['nothing', '', 'processing_failed'],
    ['another document', '{"embeddings":[[1]]}', 'processing_failed'],
    ['no vector', '{"object":"list","data":[]}', 'processing_failed'],
    ['something else in the place of a vector', '{"data":[[1]]}', 'processing_failed'],
    ['numbers that are none', '{"data":[{"embedding":"AAA="}]}', 'processing_failed'],
    ['half of a vector', '{"data":[{"embedding":[1,', 'result_transfer_failed'],
  ] as const) {
    it(`fail free of charge if they are ${what}`, async () => {
      answer = always(broken);
      const response = await ask({});
      const body = await response.text();
      expect(body).not.to.contain('secret');
      expect([response.status, Object(JSON.parse(body)).error.code]).to.deep.equal([
        code === 'content_policy_violation' ? 400 : 503,
        code,
      ]);
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    });

    if (code === 'content_policy_violation') continue;
    it(`come from the next upstream if they are ${what}`, async () => {
      answer = always(broken);
      expect((await embeddedIn(await ask({}, 'in-pairs'))).data).to.have.length(1);
      expect(asked).to.deep.equal(['one', 'two']);
    });
  }

  for (const [what, broken] of [
    ['fewer than inputs', answerOf([[1]])],
    ['more than inputs', answerOf([[1], [2], [3]])],
    ['cut after the first', answerOf([[1], [2]]).slice(0, 80)],
    ['followed by something else', `${answerOf([[1], [2]])}}`],
  ] as const) {
    it(`break the connection off, free of charge, if they are ${what}`, async () => {
      // contract 4.8.5:10
      answer = always(broken);
      const failed = await ask({ input: ['a', 'b'] })
        .then((response) => response.text())
        .then(
          (body) => `answered ${body}`,
          () => 'broken',
        );
      expect(failed).to.equal('broken');
      expect(await lastRow(text)).to.include({ outcome: 'failed', charge: '0' });
    });
  }

  it('are charged by Genway’s own count to a client that left, if the upstream does not finish in time', async () => {
    // contract 4.8.5:11
    answer = (_request, response) => {
      response.write(answerOf([[1], [2]]).slice(0, 80));
    };
    const leaving = new AbortController();
    const response = await text.post(
      '/v1/embeddings',
      { model: 'alone', input: ['a', 'b'] },
      { signal: leaving.signal },
    );
    const reading = response.text().catch(() => {});
    leaving.abort();
    await reading;
    expect(await lastRow(text)).to.include({
      outcome: 'disconnected',
      estimated: true,
      input_tokens: '2',
      output_tokens: '0',
    });
  });

  it('need no more memory than one vector: a vector that never ends is cut off', async () => {
    answer = (_request, response) => {
      response.write('{"data":[{"embedding":[1');
      const more = (): boolean => response.writable && response.write(',1'.repeat(64 * 1024)) && more();
      response.on('drain', more).on('error', () => {});
      more();
    };
    expect((await ask({})).status).to.equal(503);
  });
});
