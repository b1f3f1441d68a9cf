import { expect } from 'chai';
import { cutText } from '../../domain/cut-text.ts';

describe('cutText', () => {
  for (const [text, cut] of [
    ['ab', 'ab'],
    ['abc', 'abc'],
    ['abcd', 'abc'],
    ['a😀', 'a😀'],
    ['ab😀', 'ab'],
    ['ab😀cd', 'ab'],
    ['a😀cd', 'a😀'],
  ] as const) {
    it(`shortens ${text} to ${cut} where three code units are allowed`, () => {
      expect(cutText(text, 3)).to.equal(cut);
    });
  }
});
