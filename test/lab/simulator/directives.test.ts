import { expect } from 'chai';
import * as fc from 'fast-check';
import { BadDirectiveError, oneOf, parseDirectives, wholeNumber } from '../../../lab/simulator/directives.ts';

describe('directives', () => {
  it('are read with and without values from anywhere in a text', () => {
    const directives = parseDirectives('a boat [sim:render_ms=20,stuck] at sea [sim: fail = bad_request ]');
    expect([...directives]).to.deep.equal([
      ['render_ms', '20'],
      ['stuck', ''],
      ['fail', 'bad_request'],
    ]);
  });

  it('let the later of two directives with one name count', () => {
    expect(parseDirectives('[sim:say=a] [sim:say=b]').get('say')).to.equal('b');
  });

  it('keep equals signs in a value', () => {
    expect(parseDirectives('[sim:say=a=b]').get('say')).to.equal('a=b');
  });

  it('are not found in ordinary text', () => {
    fc.assert(fc.property(fc.string(), (text) => parseDirectives(text.replaceAll('[sim:', '')).size === 0));
  });

  it('all directives are found', () => {
    const word = fc.stringMatching(/^[a-z_]{1,12}$/);
    fc.assert(
      fc.property(fc.dictionary(word, word, { minKeys: 1 }), (wanted) => {
        const list = Object.entries(wanted).map(([name, value]) => `${name}=${value}`);
        expect(Object.fromEntries(parseDirectives(`x [sim:${list.join(',')}] y`))).to.deep.equal({ ...wanted });
      }),
    );
  });

  it('are refused with an invalid number', () => {
    for (const value of ['', 'soon', '-1', '1.5', '1e3']) {
      expect(() => wholeNumber(parseDirectives(`[sim:render_ms=${value}]`), 'render_ms')).to.throw(BadDirectiveError);
    }
  });

  it('are refused with a word that is not on the list', () => {
    const directives = parseDirectives('[sim:result=mising]');
    expect(() => oneOf(directives, 'result', ['missing', 'slow'])).to.throw(BadDirectiveError, 'missing, slow');
  });

  it('are distinguished as absent or invalid', () => {
    expect(wholeNumber(parseDirectives(''), 'render_ms')).to.equal(undefined);
    expect(oneOf(parseDirectives(''), 'result', ['slow'])).to.equal(undefined);
  });
});
