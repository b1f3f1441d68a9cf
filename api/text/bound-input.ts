/** The most tokens that the input of a request may turn out to have: what is held for, so that no prompt costs more. */
import type { MediaKind, TextModel } from '../../catalogue/types.ts';
import type { AnswerPart, FilePart, ImagePart, InputPart, TextRequest } from '../../text/canonical.ts';
import { mediaTypeOfLink } from '../../text/generate-content/media.ts';

/** Roles, separators and what upstreams write around tools. */
const TOKENS_PER_REQUEST = 64;
const TOKENS_PER_TURN_OR_PART = 8;
const TOKENS_FOR_TOOLS = 512;

/** @returns at most as many as the model takes: an upstream refuses more */
export function mostInputTokens({ turns, tools, outputFormat }: TextRequest, model: TextModel): number {
  const limit = model.mostInputTokens;
  let tokens = TOKENS_PER_REQUEST;
  const take = (text: string): void => {
    tokens += mostTokensOf(text, limit - tokens);
  };
  const takePart = (part: InputPart | AnswerPart): void => {
    tokens += TOKENS_PER_TURN_OR_PART;
    if (part.type === 'image' || part.type === 'file') tokens += model.mediaTokens[kindOf(part)];
    else for (const text of textsOf(part)) take(text);
  };
  if (tools.length > 0) tokens += TOKENS_FOR_TOOLS;
  for (const tool of tools) if (tokens < limit) take(JSON.stringify(tool));
  if (outputFormat !== undefined) take(JSON.stringify(outputFormat));
  for (const turn of turns) {
    tokens += TOKENS_PER_TURN_OR_PART;
    if (turn.role === 'tool') for (const { content } of turn.parts) content.forEach(takePart);
    else turn.parts.forEach(takePart);
  }
  return Math.min(Math.ceil(tokens), limit);
}

function textsOf(part: Exclude<InputPart | AnswerPart, ImagePart | FilePart>): readonly string[] {
  if (part.type === 'tool-call') return [part.name, part.arguments, part.signature ?? ''];
  return part.type === 'reasoning' ? [part.text, part.signature ?? ''] : [part.text];
}

/** Links to it are read as videos, whatever type they are said to be of. */
const VIDEO_SITE = /^https?:\/\/(?:[a-z]+\.)?(?:youtube\.com|youtu\.be)\//i;

/** What a part may turn out to be; the dearest, where nobody says. */
function kindOf({ type, source }: ImagePart | FilePart): MediaKind {
  if (source.kind === 'url' && VIDEO_SITE.test(source.url)) return 'video';
  const mediaType = source.mediaType ?? (source.kind === 'url' ? mediaTypeOfLink(source.url) : undefined);
  if (mediaType === undefined) return type === 'image' ? 'image' : 'video';
  if (mediaType.startsWith('video/')) return 'video';
  if (mediaType.startsWith('audio/')) return 'audio';
  return mediaType.startsWith('image/') ? 'image' : 'document';
}

const ASCII = 0x80;
/** The most tokens for a UTF-16 unit below each, as random text of the range has in the vocabularies of the day. */
const RANGES: readonly (readonly [end: number, tokens: number])[] = [
  [0x400, 2], // Latin with marks, phonetic letters, Greek
  [0x800, 1.5], // Cyrillic to Arabic
  [0x900, 3],
  [0x1000, 2], // the scripts of India, Thai, Tibetan
  [0x3040, 3],
  [0x3100, 1.5], // Hiragana, Katakana
  [0x4e00, 3],
  [0xa000, 2.4], // Chinese characters
  [0xac00, 3],
  [0xd800, 2.7], // Hangul
  [0xe000, 2], // halves of characters beyond
  [0x10000, 3],
];
const TOKENS_BY_UNIT = Float32Array.from({ length: 0x10000 }, (_, unit) =>
  unit < ASCII ? tokensOfAscii(String.fromCharCode(unit)) : (RANGES.find(([end]) => unit < end)?.[1] ?? 3),
);

/** Some vocabularies have single digits only. */
function tokensOfAscii(character: string): number {
  if (/[a-z ]/.test(character)) return 0.55;
  return /[A-Z\t\n\r!-/:-@[-`{-~]/.test(character) ? 0.75 : 1;
}

/**
 * The most tokens that a text may have: about twice as many as English has, and no fewer than random letters have.
 *
 * @param enough where it may stop
 */
export function mostTokensOf(text: string, enough = Number.POSITIVE_INFINITY): number {
  let tokens = 0;
  for (let index = 0; index < text.length && tokens < enough; index += 1) {
    tokens += TOKENS_BY_UNIT[text.charCodeAt(index)] ?? 0;
  }
  return tokens;
}
