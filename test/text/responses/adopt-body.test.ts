import { expect } from 'chai';
import { adoptBody } from '../../../text/responses/adopt-body.ts';

describe('a body of responses for a model with full compatibility', () => {
  it('has the effort max in the place of ultra', () => {
    // contract 4.8.2:71
    const reasoning = { effort: 'ultra', summary: 'auto' };
    expect(adoptBody({ input: 'Hi', reasoning })).to.deep.equal({
      input: 'Hi',
      reasoning: { ...reasoning, effort: 'max' },
    });
  });

  it('stays as it is with another effort', () => {
    const body = { input: 'Hi', reasoning: { effort: 'high' } };
    expect(adoptBody(body)).to.equal(body);
  });
});
