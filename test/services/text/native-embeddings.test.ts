/** Google's calls for embeddings, with Google's own SDK. */
import { GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import { EMBEDDINGS } from '../../../domain/policy.ts';
import { lastRow, textModel, useTestText } from '../../support/text.ts';

const MODEL = 'textm-renamed';
const CHAT = 'textc-full';
const contentOf = (...texts: readonly string[]) => ({ parts: texts.map((text) => ({ text })) });

describe('embeddings in the native format', () => {
  const text = useTestText({
    models: [
      textModel(MODEL, [{ format: 'chat-completions', model: 'secret-name' }], {
        formats: ['embeddings'],
        compatibility: 'full',
      }),
      textModel(CHAT, [{ format: 'chat-completions' }], { compatibility: 'full' }),
    ],
  });

  const valuesOf = async (input: string, dimensions?: number): Promise<unknown> => {
    const answer = await text.post('/v1/embeddings', { model: MODEL, input, dimensions: dimensions ?? null });
    return Object(await answer.json()).data[0].embedding;
  };
  const post = async (method: string, body: unknown, model = MODEL) => {
    const response = await text.post(`/v1beta/models/${model}:${method}`, body);
    return { status: response.status, body: Object(await response.json()) };
  };

  it('are the vectors of POST /v1/embeddings, one for each content, in order', async () => {
    // contract 4.8.5:13
    const ai = new GoogleGenAI({ apiKey: text.apiKey, httpOptions: { baseUrl: text.baseUrl } });
    const contents = ['A lighthouse', 'A red kite'];
    const config = { outputDimensionality: 8, taskType: 'RETRIEVAL_QUERY' };
    const { embeddings = [] } = await ai.models.embedContent({ model: MODEL, contents, config });
    const expected = await Promise.all(contents.map((content) => valuesOf(content, 8)));
    expect(embeddings.map(({ values }) => values)).to.deep.equal(expected);
    const one = await post('embedContent', { model: `models/${MODEL}`, content: contentOf('A lighthouse') });
    expect(one).to.deep.equal({ status: 200, body: { embedding: { values: await valuesOf('A lighthouse') } } });
    const snake = { content: { role: 'user', ...contentOf('A', 'kite') }, output_dimensionality: 4, title: 'Birds' };
    const two = await post('embedContent', snake);
    expect(two.body).to.deep.equal({ embedding: { values: await valuesOf('A\nkite', 4) } });
  });

  it('are charged by the input tokens', async () => {
    // contract 4.8.5:13
    await post('batchEmbedContents', { requests: [{ content: contentOf('One [sim:prompt=11]') }] });
    expect(await lastRow(text)).to.include({
      format: 'embeddings',
      outcome: 'succeeded',
      input_tokens: '11',
      output_tokens: '0',
    });
    const [sent] = await text.seen(1);
    expect(sent?.body).to.deep.equal({ model: 'secret-name', input: ['One [sim:prompt=11]'] });
  });

  const item = { content: contentOf('a') };
  for (const [method, body, message] of [
    ['embedContent', {}, '"content" is required'],
    ['embedContent', { content: {} }, '"content.parts" is required'],
    ['embedContent', { content: contentOf() }, '"content" must have text'],
    ['embedContent', { content: contentOf(' ') }, '"content" must have text'],
    ['embedContent', { content: { parts: [{ inlineData: {} }] } }, 'unknown field: content.parts[0].inlineData'],
    ['embedContent', { ...item, outputDimensionality: 0 }, '"outputDimensionality" must be between 1 and'],
    ['embedContent', { ...item, taskType: 5 }, '"taskType" must be a string'],
    ['batchEmbedContents', item, 'unknown field: content'],
    ['batchEmbedContents', {}, '"requests" is required'],
    ['batchEmbedContents', { requests: [] }, '"requests" requires at least 1 item'],
    ['batchEmbedContents', { requests: [{}] }, '"requests[0].content" is required'],
    ['batchEmbedContents', { requests: [item, { ...item, outputDimensionality: 8 }] }, 'must be the same'],
    [
      'batchEmbedContents',
      { requests: Array.from({ length: EMBEDDINGS.maxInputs + 1 }, () => item) },
      'at most 2048 items',
    ],
  ] as const) {
    it(`refuse ${method} with: ${message}`, async () => {
      // contract 4.8.5:13
      const answer = await post(method, body);
      expect(answer).to.containSubset({ status: 400, body: { error: { code: 'bad_request' } } });
      expect(answer.body.error.message).to.contain(message);
    });
  }

  it('exist on models of embeddings only', async () => {
    // contract 4.8.5:13
    for (const method of ['embedContent', 'batchEmbedContents']) {
      const body = method === 'embedContent' ? item : { requests: [item] };
      expect((await post(method, body, 'textm-embed')).status).to.equal(200);
      for (const model of ['texth-3.8-flash', 'nothing', CHAT]) {
        const answer = await post(method, body, model);
        expect(answer, model).to.containSubset({ status: 404, body: { error: { code: 'not_found' } } });
      }
    }
  });
});
