/**
 * Estimates how many tokens `o200k` would count in a text: within 15 % for code, base64, and running text in the
 * languages of `test/text/token-estimate.test.ts`. See `docs/decisions/2026-11-22-tokens-are-estimated.md`.
 */
import { estimateTokenCount, sliceByTokens, type TokenEstimationOptions } from 'tokenx';

type LanguageConfig = NonNullable<TokenEstimationOptions['languageConfigs']>[number];

function language(pattern: RegExp, averageCharsPerToken: number): LanguageConfig {
  return { pattern, averageCharsPerToken };
}

/** Runs of ASCII that are not words: base64, digests, keys; then long runs of punctuation. */
const NO_WORDS: readonly LanguageConfig[] = [
  language(/\d[A-Za-z]+\d+[A-Za-z]|[A-Za-z]\d+[A-Za-z]+\d|[a-z][A-Z]+[a-z]+[A-Z]+[a-z]?[A-Z]/, 1.5),
  language(/^(?=.*\d)(?=.*[a-f])[\da-f]{8,}$/i, 1.7),
  language(/[b-df-hj-np-tv-xz]{6}/i, 2),
  language(/^[!-/:-@[-`{-~]{12,}$/, 2),
];

/** Without the scripts that tokenx itself handles: Latin, Greek, kana and Hangul. */
const SCRIPTS: readonly LanguageConfig[] = [
  // Long words have more tokens than their length alone explains.
  language(/[\u0900-\u097f]{7}/, 3.2),
  language(/[\u0900-\u097f]/, 4.2),
  language(/[\u0600-\u06ff\u0750-\u077f]{7}/, 3.6),
  language(/[\u0600-\u06ff\u0750-\u077f]/, 4.5),
  language(/[\u0400-\u04ff]/, 5),
  // Thai, which has no spaces between its words.
  language(/[\u0e00-\u0e7f]/, 2.35),
  // Armenian, Hebrew, Bengali, Gujarati, Tamil, Telugu, Kannada, Malayalam, Georgian.
  language(/[\u0530-\u05ff\u0980-\u09ff\u0a80-\u0aff\u0b80-\u0d7f\u10a0-\u10ff]/, 2.6),
  // Gurmukhi, Oriya, Sinhala, Lao, Burmese, Khmer.
  language(/[\u0a00-\u0a7f\u0b00-\u0b7f\u0d80-\u0dff\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff]/, 1.7),
  // Chinese; next to kana or Hangul, the same characters are Japanese or Korean.
  language(/^(?=[^\u3040-\u30ff\uac00-\ud7af]*$)[^\u4e00-\u9fff]*[\u4e00-\u9fff]/, 1.34),
  // Vietnamese.
  language(/[\u1e00-\u1eff]/, 2.9),
  // Scripts that vocabularies hardly know.
  language(/[\u0700-\u074f\u0780-\u08ff\u0f00-\u0fff\u1100-\u177f\u1800-\u1dff\u2c00-\u2dff\ua000-\uabff]/, 0.4),
  language(/[\ud800-\ud83b\ud83f-\udbff]/, 0.4),
  // Symbols and emoji.
  language(/^[\u0250-\u036f\u2000-\u2fff\ud800-\udfff]+$/, 0.7),
];

const ASCII_OPTIONS: TokenEstimationOptions = { languageConfigs: [...NO_WORDS] };
const OPTIONS: TokenEstimationOptions = { languageConfigs: [...SCRIPTS, ...NO_WORDS] };
const NOT_ASCII = /[^\0-\x7f]/;

/** Up to this many UTF-16 units are read; of longer texts, slices at random places that add up to about as much. */
const MAX_READ = 8 * 1024;
const SLICE_LENGTH = 256;

/**
 * Estimates the tokens of several texts together. However long they are, it reads only about 8,000 characters, which
 * takes a millisecond or two: of longer texts a sample at unpredictable places.
 */
export function estimateTokens(texts: readonly string[]): number {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length > MAX_READ) return Math.ceil(estimateSample(texts, length));
  let tokens = 0;
  for (const text of texts) tokens += estimateShort(text);
  return tokens;
}

/** Tokens are rarely longer. */
const MAX_TOKEN_LENGTH = 64;

/** The beginning of a text with about `count` tokens, or the whole text if it has no more. @param count small */
export function firstTokens(text: string, count: number): string {
  const beginning = text.slice(0, count * MAX_TOKEN_LENGTH);
  return sliceByTokens(beginning, 0, count, optionsFor(beginning));
}

/** @param text short, because the time this takes is not bounded */
function estimateShort(text: string): number {
  return estimateTokenCount(text, optionsFor(text));
}

function optionsFor(text: string): TokenEstimationOptions {
  return NOT_ASCII.test(text) ? OPTIONS : ASCII_OPTIONS;
}

function estimateSample(texts: readonly string[], length: number): number {
  const sliceCount = MAX_READ / SLICE_LENGTH;
  const stride = length / sliceCount;
  let tokens = 0;
  let read = 0;
  let taken = 0;
  /** The offset of the current text in the concatenation of all texts. */
  let start = 0;
  let next = Math.random() * stride;
  for (const text of texts) {
    for (; taken < sliceCount && next < start + text.length; next = (taken + Math.random()) * stride) {
      const from = Math.floor(next) - start;
      const slice = text.slice(from, from + SLICE_LENGTH);
      tokens += estimateShort(slice);
      read += slice.length;
      taken += 1;
    }
    start += text.length;
  }
  return read === 0 ? 0 : (tokens * length) / read;
}

/** The maximum number of blocks kept of a text that arrives in pieces. */
const MAX_BLOCKS = 32;
const BLOCK_LENGTH = MAX_READ / MAX_BLOCKS;

/**
 * Counts the tokens of a text that arrives in pieces. Until a caller reads the count, which is rare, the counter does next to
 * nothing: it keeps the text, and of a long one every second, fourth, eighth, … block.
 */
export class TokenCounter {
  /** UTF-16 units so far. */
  length = 0;
  #blocks: string[] = [];
  #stride = 1;
  #blockIndex = 0;
  /** The pieces of the block that is not full yet. */
  #open: string[] = [];
  #openLength = 0;

  add(piece: string): void {
    this.length += piece.length;
    for (let start = 0; start < piece.length;) {
      const end = Math.min(start + BLOCK_LENGTH - this.#openLength, piece.length);
      if (this.#isKept()) this.#open.push(piece.slice(start, end));
      this.#openLength += end - start;
      if (this.#openLength === BLOCK_LENGTH) this.#endBlock();
      start = end;
    }
  }

  /** Estimates everything that was added. */
  count(): number {
    const kept = this.#blocks.join('') + this.#open.join('');
    return kept === '' ? 0 : Math.ceil((estimateTokens([kept]) * this.length) / kept.length);
  }

  #isKept(): boolean {
    return this.#blockIndex % this.#stride === 0;
  }

  #endBlock(): void {
    if (this.#isKept()) this.#blocks.push(this.#open.join(''));
    if (this.#blocks.length === MAX_BLOCKS) {
      this.#blocks = this.#blocks.filter((_, index) => index % 2 === 0);
      this.#stride *= 2;
    }
    this.#blockIndex += 1;
    this.#open = [];
    this.#openLength = 0;
  }
}
