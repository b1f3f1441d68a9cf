import { expect } from 'chai';
import { parseUrl } from '../../domain/parse-url.ts';

/** Enough calls for the engine to replace a function by its optimized form. */
const MANY = 20_000;

describe('parseUrl', () => {
  it('reads a name with other letters than ASCII however often it was called', () => {
    const hosts = new Set(Array.from({ length: MANY }, () => parseUrl('https://münchen.de/bild.png')?.hostname));
    expect([...hosts]).to.deep.equal(['xn--mnchen-3ya.de']);
  });

  it('resolves a relative address', () => {
    expect(parseUrl('b?c', 'https://example.com/a/')?.href).to.equal('https://example.com/a/b?c');
  });

  it('returns null for a text that is no address', () => {
    for (const text of ['', 'example.com', 'https://', 'https://exa mple.com'])
      expect(parseUrl(text), text).to.equal(null);
  });
});
