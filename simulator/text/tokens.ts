/**
 * The simulator's own tokens. Output: one for each piece that is streamed, which is a word with the space before it, long
 * words in several pieces. Input: one for every four characters.
 */
const PIECE = /(?<!\s)(?:\s*\S{1,12}|\s+$)/gu;
const CHARACTERS_PER_TOKEN = 4;

/** Cuts a text into its pieces; joined they are the text again. */
export function splitIntoPieces(text: string): readonly string[] {
  return text.match(PIECE) ?? [];
}

export function countInputTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** A text with that many pieces, made of the words in turn. */
export function repeatWords(words: readonly string[], count: number): string {
  return Array.from({ length: count }, (_, index) => words[index % words.length]).join(' ');
}

/** The number of characters of input for that many tokens. */
export function charactersOf(tokens: number): number {
  return tokens * CHARACTERS_PER_TOKEN;
}
