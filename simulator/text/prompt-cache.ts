/** Remembers prompts, as upstreams do to charge less for repeated input. */
import { hash } from 'node:crypto';
import { charactersOf, countInputTokens } from './tokens.ts';

const MIN_PROMPT_TOKENS = 300;
/** Upstreams only cache whole blocks. */
const BLOCK_TOKENS = 64;
const MAX_BLOCKS = 50_000;

export interface PromptCache {
  /** Returns how many tokens at the start of the prompt the model has seen before, and remembers the prompt. */
  take(model: string, prompt: string): number;
}

/** Remembers the blocks of prompts of more than 300 tokens, and forgets the least recently used ones. */
export function createPromptCache(maxBlocks = MAX_BLOCKS): PromptCache {
  /** Each block as a hash of itself and all blocks before it, least recently used first. */
  const known = new Set<string>();
  const blockLength = charactersOf(BLOCK_TOKENS);

  const forgetOldest = (): void => {
    for (const oldest of known) {
      if (known.size <= maxBlocks) return;
      known.delete(oldest);
    }
  };

  return {
    take(model, prompt) {
      if (countInputTokens(prompt) <= MIN_PROMPT_TOKENS) return 0;
      let digest = model;
      let cachedBlocks = 0;
      let isKnown = true;
      for (let end = blockLength; end <= prompt.length; end += blockLength) {
        digest = hash('sha1', digest + prompt.slice(end - blockLength, end), 'base64');
        isKnown = known.delete(digest) && isKnown;
        if (isKnown) cachedBlocks += 1;
        known.add(digest);
      }
      forgetOldest();
      return cachedBlocks * BLOCK_TOKENS;
    },
  };
}
