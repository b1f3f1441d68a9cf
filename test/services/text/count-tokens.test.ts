import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import OpenAI from 'openai';
import type { RequestListener } from 'node:http';
import type { JsonObject } from '../../../domain/json.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { ASK, modelVia, textModel, useTestText } from '../../support/text.ts';

/** The declaration of a tool in each format. */
const TOOLS = {
  messages: [{ name: 'look', input_schema: { type: 'object' } }],
  responses: [{ type: 'function', name: 'look', parameters: { type: 'object' } }],
};
const PROMPT = 'Name three lighthouses of the North Sea. '.repeat(50);

describe('a count of input tokens', () => {
  const text = useTestText();

  it('answers the SDKs of both formats, is close to the model’s usage, and costs nothing', async () => {
    // contract 4.8:40 4.8:41
    const anthropic = new Anthropic({ apiKey: text.apiKey, baseURL: text.baseUrl });
    const openai = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
    const messages = [{ role: 'user', content: PROMPT } as const];
    const tools = [{ name: 'look', input_schema: { type: 'object' } } as const];
    const model = 'textc-M3';
    const { input_tokens: bare } = await anthropic.messages.countTokens({ model, messages });
    const { input_tokens: withTools } = await anthropic.messages.countTokens({ model, messages, tools: [...tools] });
    const counted = await openai.responses.inputTokens.count({ model, input: PROMPT });
    expect(counted).to.deep.include({ object: 'response.input_tokens', input_tokens: bare });
    expect(bare).to.be.within(300, 700);
    expect(withTools).to.be.greaterThan(bare);
    expect(text.charges).to.deep.equal([]);
    expect(await text.seen()).to.deep.equal([]);
  });

  for (const [client, path] of [
    ['messages', '/v1/messages/count_tokens'],
    ['responses', '/v1/responses/input_tokens'],
  ] as const) {
    for (const via of WIRE_FORMAT_NAMES) {
      const counts = via === 'chat-completions' ? 'Genway’s own' : 'that of the vendor, for what it would be sent';

      it(`is ${counts} where ${client} go to ${via}`, async () => {
        // contract 4.8:40
        const { body } = ASK[client](modelVia(via), PROMPT, false);
        const { max_tokens: _, ...counted }: JsonObject = { ...body, tools: TOOLS[client] };
        const response = await text.post(path, counted);
        const { input_tokens: tokens } = Object(await response.json());
        const isVendors = via !== 'chat-completions';
        expect([response.status, response.headers.get('x-genway-counted-by')]).to.deep.equal([
          200,
          isVendors ? 'model' : 'genway',
        ]);
        expect((await text.post(ASK[client]('', '', false).path, { ...body, tools: TOOLS[client] })).status).to.equal(
          200,
        );
        await text.idle();
        if (isVendors) expect(tokens).to.equal(text.outcomes.at(-1)?.usage?.inputTotal);
        expect(text.outcomes).to.have.length(1);
        text.outcomes.length = 0;
        text.charges.length = 0;
      });
    }
  }

  for (const model of ['demo-chat', 'demo-responses', 'demo-messages', 'demo-native']) {
    it(`answers Google’s SDK for ${model}, which has full compatibility`, async () => {
      // contract 4.8.4:3
      const google = new GoogleGenAI({ apiKey: text.apiKey, httpOptions: { baseUrl: text.baseUrl } });
      const { totalTokens } = await google.models.countTokens({ model, contents: PROMPT });
      expect(totalTokens).to.be.within(300, 700);
      const contents = [{ role: 'user', parts: [{ text: PROMPT }] }];
      for (const body of [{ contents }, { generateContentRequest: { model: `models/${model}`, contents } }]) {
        const response = await text.post(`/v1beta/models/${model}:countTokens`, body);
        expect([response.status, await response.json()]).to.deep.equal([200, { totalTokens }]);
      }
      const refused = await text.post(`/v1beta/models/${model}:countTokens`, { contents: [] });
      expect([refused.status, Object(await refused.json()).error.code]).to.deep.equal([400, 'bad_request']);
    });
  }

  it('is 404 on the native format for models of the specification, and for unknown models', async () => {
    // contract 4.8.4:3
    for (const model of ['texth-3.8-flash', 'textc-M3', 'nothing']) {
      const response = await text.post(`/v1beta/models/${model}:countTokens`, { contents: [] });
      expect([response.status, Object(await response.json()).error.code]).to.deep.equal([404, 'not_found']);
    }
  });

  it('is limited like reads, and available to a key that has spent its limit', async () => {
    // contract 4.8:41
    const apiKey = await text.createKey({ rateLimitRpm: 1, usageLimit: 0n });
    const body = { model: 'textc-M3', messages: [{ role: 'user', content: 'Hi' }] };
    const statuses = [];
    for (let call = 0; call < 3; call += 1) {
      statuses.push((await text.post('/v1/messages/count_tokens', body, { apiKey })).status);
    }
    expect(statuses).to.deep.equal([200, 200, 200]);
  });

  it('refuses requests in the envelope of the format', async () => {
    const missing = await text.post('/v1/messages/count_tokens', { model: 'textc-M3' });
    expect([missing.status, await missing.json()]).to.containSubset([
      400,
      { type: 'error', error: { type: 'bad_request' } },
    ]);
    const unknown = await text.post('/v1/responses/input_tokens', { model: 'no-such-model', input: 'Hi' });
    expect([unknown.status, await unknown.json()]).to.containSubset([404, { error: { code: 'not_found' } }]);
  });
});

describe('a vendor that counts input tokens', () => {
  const HOUR_MS = 3_600_000;
  let answer: RequestListener = () => {};
  let asked: string[] = [];
  let nowMs = 1_800_000_000_000;

  const upstream = useScriptedUpstream((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  const text = useTestText(() => ({
    upstreamClock: () => nowMs,
    upstreams: [{ name: 'vendor', apiKeys: ['sk-of-the-vendor'], baseUrls: upstream.baseUrls }],
    models: [textModel('counted', [{ format: 'messages', provider: 'vendor', model: 'vendor-model' }])],
  }));

  beforeEach(() => {
    asked = [];
    nowMs += 2 * HOUR_MS;
  });

  const status =
    (
      code: number,
      body = '{"type":"error","error":{"message":"sk-of-the-vendor","type":"invalid_request_error"}}',
    ): RequestListener =>
    (_request, response) =>
      response.writeHead(code).end(body);

  async function countedBy(): Promise<string | null> {
    const body = { model: 'counted', messages: [{ role: 'user', content: 'Hi' }] };
    const response = await text.post('/v1/messages/count_tokens', body);
    const shown = await response.text();
    expect(response.status, shown).to.equal(200);
    expect(Object(JSON.parse(shown)).input_tokens).to.be.within(1, 20);
    expect(shown + text.logged()).not.to.contain('sk-of-the-vendor');
    return response.headers.get('x-genway-counted-by');
  }

  for (const [what, wrong, pauseMs] of [
    ['has no such call', status(404), HOUR_MS],
    ['does not let it be called so', status(405), HOUR_MS],
    ['refuses the key', status(401), 30_000],
    ['fails', status(500), 30_000],
    ['answers with something else', status(200, '<html>'), 30_000],
    ['answers without a count', status(200, '{"tokens":7}'), 30_000],
    ['breaks off', (request) => request.socket.destroy(), 30_000],
    ['is silent', () => {}, 30_000],
  ] as const satisfies readonly (readonly [string, RequestListener, number])[]) {
    it(`leaves the count to Genway when it ${what}, and receives no further count for a while`, async () => {
      // contract 4.8:40
      answer = wrong;
      expect(await countedBy()).to.equal('genway');
      expect(await countedBy()).to.equal('genway');
      expect(asked).to.deep.equal(['/v1/messages/count_tokens']);
      answer = status(200, '{"input_tokens":9}');
      nowMs += pauseMs - 1;
      expect(await countedBy()).to.equal('genway');
      nowMs += 1;
      expect(await countedBy()).to.equal('model');
    });
  }

  it('leaves the count to Genway when it refuses a request, and receives the next count', async () => {
    answer = status(400);
    expect([await countedBy(), await countedBy()]).to.deep.equal(['genway', 'genway']);
    expect(asked).to.have.length(2);
  });

  it('stays in service for answers when it does not count', async () => {
    answer = status(500);
    for (let call = 0; call < 10; call += 1) {
      nowMs += HOUR_MS;
      expect(await countedBy()).to.equal('genway');
    }
    answer = status(
      200,
      '{"id":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}',
    );
    expect((await text.ask('messages', 'counted', 'Hi')).status).to.equal(200);
    expect(asked.at(-1)).to.equal('/v1/messages');
  });
});
