import { expect } from 'chai';
import { vertex } from '../../../text/platforms/vertex.ts';

describe('embeddings of Vertex', () => {
  const adapt = (body: object) =>
    vertex.adapt({ path: '/embeddings', headers: {}, body: { ...body } }, 'chat-completions');
  const MODELS = '/publishers/google/models';

  it('are predictions of models before gemini-embedding-2, and contents of later ones', () => {
    const dimensions = 8;
    expect(adapt({ model: 'gemini-embedding-001', input: ['a', 'b'], dimensions })).to.deep.include({
      path: `${MODELS}/gemini-embedding-001:predict`,
      body: { instances: [{ content: 'a' }, { content: 'b' }], parameters: { outputDimensionality: 8 } },
    });
    for (const input of ['a', ['a']]) {
      expect(adapt({ model: 'gemini-embedding-2', input, dimensions, encoding_format: 'base64' })).to.deep.include({
        path: `${MODELS}/gemini-embedding-2:embedContent`,
        body: { content: { role: 'user', parts: [{ text: 'a' }] }, outputDimensionality: 8 },
      });
    }
  });

  for (const [model, input, message] of [
    ['gemini-embedding-001', [1, 2, 3], 'no token ids'],
    ['gemini-embedding-001', [[1, 2], [3]], 'no token ids'],
    ['gemini-embedding-2', ['a', 'b'], 'one text per request'],
  ] as const) {
    it(`refuse the input ${JSON.stringify(input)} for ${model}`, () => {
      // contract 4.8.5:71
      expect(() => adapt({ model, input })).to.throw(message);
    });
  }
});
