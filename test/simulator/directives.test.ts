import { expect } from 'chai';
import * as fc from 'fast-check';
import { BadDirectiveError, oneOf, parseDirectives, wholeNumber } from '../../simulator/directives.ts';

describe('directives', () => {
  it('stand anywhere in a text, with or without a value', () => {
    const directives = parseDirectives('a boat [sim:render_ms=20,stuck] at sea [sim: fail = bad_request ]');
    expect([...directives]).to.deep.equal([
      ['render_ms', '20'],
      ['stuck', ''],
      ['fail', 'bad_request'],
    ]);
  });

  it('override an earlier directive with the same name', () => {
    expect(parseDirectives('[sim:say=a] [sim:say=b]').get('say')).to.equal('b');
  });

  it('keep equals signs in a value', () => {
    expect(parseDirectives('[sim:say=a=b]').get('say')).to.equal('a=b');
  });

  it('do not occur in ordinary text', () => {
    fc.assert(fc.property(fc.string(), (text) => parseDirectives(text.replaceAll('[sim:', '')).size === 0));
  });

  it('the parser finds every directive of a list', () => {
    const word = fc.stringMatching(/^[a-z_]{1,12}$/);
    fc.assert(
      fc.property(fc.dictionary(word, word, { minKeys: 1 }), (wanted) => {
        const list = Object.entries(wanted).map(([name, value]) => `${name}=${value}`);
        expect(Object.fromEntries(parseDirectives(`x [sim:${list.join(',')}] y`))).to.deep.equal({ ...wanted });
      }),
    );
  });

  it('the simulator refuses a directive with an invalid number', () => {
    for (const value of ['', 'soon', '-1', '1.5', '1e3']) {
      expect(() => wholeNumber(parseDirectives(`[sim:render_ms=${value}]`), 'render_ms')).to.throw(BadDirectiveError);
    }
  });

  it('the simulator refuses a directive with a word that is not on the list', () => {
    const directives = parseDirectives('[sim:result=mising]');
    expect(() => oneOf(directives, 'result', ['missing', 'slow'])).to.throw(BadDirectiveError, 'missing, slow');
  });

  it('an absent directive has no value, unlike an invalid one', () => {
    expect(wholeNumber(parseDirectives(''), 'render_ms')).to.equal(undefined);
    expect(oneOf(parseDirectives(''), 'result', ['slow'])).to.equal(undefined);
  });
});
