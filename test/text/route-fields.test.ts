import { expect } from 'chai';
import { FORMATS } from '../../text/formats.ts';
import { adaptBody, namesForClient } from '../../text/route-fields.ts';

describe('the fields of a route', () => {
  for (const [what, fields, sent, body, unused] of [
    [
      'removes fields',
      { drop: ['temperature', 'seed'] },
      { model: 'm', temperature: 1 },
      { model: 'm' },
      ['temperature'],
    ],
    [
      'removes fields inside objects',
      { drop: ['generationConfig.topK'] },
      { generationConfig: { topK: 3, topP: 1 } },
      { generationConfig: { topP: 1 } },
      ['generationConfig.topK'],
    ],
    [
      'removes fields of messages',
      { drop: ['messages.reasoning_content', 'tools.function.strict'] },
      { messages: [{ role: 'user' }, { role: 'assistant', reasoning_content: 'Hm' }, 'x'], tools: [] },
      { messages: [{ role: 'user' }, { role: 'assistant' }, 'x'], tools: [] },
      ['messages.reasoning_content'],
    ],
    [
      'renames fields, also into objects',
      { rename: { reasoning_effort: 'reasoning.effort', seed: 'random_seed' } },
      { reasoning_effort: 'low', reasoning: { summary: 'auto' } },
      { reasoning: { summary: 'auto', effort: 'low' } },
      [],
    ],
    [
      'sets fields, and names values that it replaces',
      { set: { temperature: 1, 'provider.sort': 'price', top_p: 1 } },
      { temperature: 0.2, top_p: 1 },
      { temperature: 1, top_p: 1, provider: { sort: 'price' } },
      ['temperature'],
    ],
    ['leaves other requests as they are', { drop: ['temperature'] }, { model: 'm' }, { model: 'm' }, []],
  ] as const) {
    it(what, () => {
      expect(adaptBody(sent, fields)).to.deep.equal({ body, unused });
    });
  }

  it('have the client’s names in its answer', () => {
    const paths = ['generationConfig.topP', 'safetySettings'];
    expect(namesForClient(FORMATS.messages, FORMATS['generate-content'], paths)).to.deep.equal([
      'top_p',
      'safetySettings',
    ]);
  });
});
