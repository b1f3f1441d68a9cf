import { expect } from 'chai';
import { textOfArguments } from '../../text/free-text-tools.ts';

describe('the text for a tool that takes free text', () => {
  for (const [what, text] of [
    ['under the name that Genway gives it', '{"input":"*** Begin Patch"}'],
    ['under a name of the model', '{"patch":"*** Begin Patch"}'],
    ['without JSON around it', '*** Begin Patch'],
  ] as const) {
    it(`is read ${what}`, () => {
      expect(textOfArguments(text)).to.equal('*** Begin Patch');
    });
  }

  it('is all of the arguments if they name several texts', () => {
    const text = '{"old":"a","new":"b"}';
    expect(textOfArguments(text)).to.equal(text);
  });
});
