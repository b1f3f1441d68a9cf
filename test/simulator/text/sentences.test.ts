import { expect } from 'chai';
import * as fc from 'fast-check';
import { readPlainWish } from '../../../simulator/text/sentences.ts';

describe('plain sentences', () => {
  it('return the text after "Say exactly:", whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(readPlainWish(`Say exactly: ${text}`)).to.deep.equal({ kind: 'say', text });
      }),
    );
  });

  it('request tool calls with any arguments, unchanged', () => {
    const call = fc.record({
      name: fc.stringMatching(/^[\w.-]{1,20}$/),
      arguments: fc.dictionary(fc.string(), fc.jsonValue()),
    });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), (calls) => {
        const written = calls.map((one) => ({ name: one.name, arguments: JSON.stringify(one.arguments) }));
        const sentence = written.map((one) => `${one.name} with ${one.arguments}`).join(' and ');
        expect(readPlainWish(`Please. Call ${sentence}.`)).to.deep.equal({ kind: 'call', calls: written });
      }),
    );
  });

  it('the plain sentence that starts first takes effect', () => {
    expect(readPlainWish('Say exactly: Call a with {}')).to.have.property('kind', 'say');
    expect(readPlainWish('Call a with {"b":"Say exactly: c"}')).to.have.property('kind', 'call');
  });

  for (const message of ['Hello', 'Call me with a friend', 'Call a with {', 'Call a with {b}', 'recall a with {}']) {
    it(`the simulator finds no plain sentence in "${message}"`, () => {
      expect(readPlainWish(message)).to.equal(null);
    });
  }
});
