/** Which prompts came before, as upstreams remember them to charge less for what they have seen. */
import { hash } from 'node:crypto';
import { charactersOf, countInputTokens } from './tokens.ts';

const MIN_PROMPT_TOKENS = 300;
/** Upstreams remember whole blocks. */
const BLOCK_TOKENS = 64;
const MAX_BLOCKS = 50_000;

export interface PromptCache {
  /** How many tokens at the beginning of the prompt were seen before by that model. The prompt is remembered. */
  take(model: string, prompt: string): number;
}

/** Remembers the blocks of prompts of over 300 tokens; of too many, those not used for longest are forgotten. */
export function createPromptCache(maxBlocks = MAX_BLOCKS): PromptCache {
  /** Each block as the hash of itself and of all before it; the one not used for longest comes first. */
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
