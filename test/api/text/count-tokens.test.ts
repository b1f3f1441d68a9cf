import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { useTestText } from '../../support/text.ts';

const PROMPT = 'Name three lighthouses of the North Sea. '.repeat(50);

describe('a count of input tokens', () => {
  const text = useTestText();

  it('answers the SDKs of both formats, near to what the model reports, and costs nothing', async () => {
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

  it('is limited like reads, and taken from a key that has spent its limit', async () => {
    const apiKey = await text.createKey({ rateLimitRpm: 1, usageLimit: 0n });
    const body = { model: 'textc-M3', messages: [{ role: 'user', content: 'Hi' }] };
    const statuses = [];
    for (let call = 0; call < 3; call += 1) {
      statuses.push((await text.post('/v1/messages/count_tokens', body, { apiKey })).status);
    }
    expect(statuses).to.deep.equal([200, 200, 200]);
  });

  it('refuses in the envelope of the format', async () => {
    const missing = await text.post('/v1/messages/count_tokens', { model: 'textc-M3' });
    expect([missing.status, await missing.json()]).to.containSubset([
      400,
      { type: 'error', error: { type: 'bad_request' } },
    ]);
    const unknown = await text.post('/v1/responses/input_tokens', { model: 'no-such-model', input: 'Hi' });
    expect([unknown.status, await unknown.json()]).to.containSubset([404, { error: { code: 'not_found' } }]);
  });
});
