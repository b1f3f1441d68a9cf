import { expect } from 'chai';
import { createPromptCache } from '../../../simulator/text/prompt-cache.ts';

const text = (tokens: number, letter = 'x'): string => letter.repeat(tokens * 4);

describe('the prompt cache', () => {
  it('finds the whole blocks that two prompts start with', () => {
    const cache = createPromptCache();
    expect(cache.take('m', text(640) + text(320, 'a'))).to.equal(0);
    expect(cache.take('m', text(640) + text(320, 'b'))).to.equal(640);
    expect(cache.take('m', text(700) + text(320, 'b'))).to.equal(640);
  });

  it('starts above 300 tokens', () => {
    const cache = createPromptCache();
    for (const tokens of [300, 300, 301]) expect(cache.take('m', text(tokens))).to.equal(0);
    expect(cache.take('m', text(301))).to.equal(256);
  });

  it('finds nothing of a prompt with another start, or of another model', () => {
    const cache = createPromptCache();
    cache.take('m', text(640));
    expect(cache.take('m', `y${text(640)}`)).to.equal(0);
    expect(cache.take('n', text(640))).to.equal(0);
  });

  it('evicts the least recently used entry', () => {
    const cache = createPromptCache(10);
    cache.take('m', text(320, 'a'));
    cache.take('m', text(320, 'b'));
    cache.take('m', text(320, 'a'));
    cache.take('m', text(320, 'c'));
    expect(cache.take('m', text(320, 'a'))).to.equal(320);
    expect(cache.take('m', text(320, 'b'))).to.equal(0);
  });
});
