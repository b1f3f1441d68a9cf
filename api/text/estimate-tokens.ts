/** How many tokens a request's input may have, for the hold: quick, and rather too many than too few. */
import type { InputPart, TextRequest } from '../../text/canonical.ts';

/** Of JSON text, whose punctuation counts too. */
const BYTES_PER_TOKEN = 3.5;
/** What the largest image costs on the models that charge most for one. */
const TOKENS_PER_IMAGE = 1_600;
/** Documents, sound and video cost by what is in them, of which their size is all that is known here. */
const FILE_BYTES_PER_TOKEN = 100;

/** @param bodyBytes the length of the request's body */
export function estimateInputTokens(request: TextRequest, bodyBytes: number): number {
  let textBytes = bodyBytes;
  let attachmentTokens = 0;
  const take = (part: InputPart): void => {
    if (part.type === 'text') return;
    const dataBytes = part.source.kind === 'base64' ? part.source.data.length : 0;
    textBytes -= dataBytes;
    attachmentTokens += TOKENS_PER_IMAGE;
    if (part.type === 'file') attachmentTokens += dataBytes / FILE_BYTES_PER_TOKEN;
  };
  for (const { role, parts } of request.turns) {
    if (role === 'user') parts.forEach(take);
    else if (role === 'tool') for (const result of parts) result.content.forEach(take);
  }
  return Math.ceil(Math.max(textBytes, 0) / BYTES_PER_TOKEN + attachmentTokens);
}

/** Of generated text, for answers whose upstream did not say how many tokens they have. */
const CHARACTERS_PER_TOKEN = 4;

/** @param length of the output in UTF-16 units */
export function estimateOutputTokens(length: number): number {
  return Math.ceil(length / CHARACTERS_PER_TOKEN);
}
