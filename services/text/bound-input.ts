/** An upper bound on the input tokens of a request. The hold covers it, so no prompt costs more than its hold. */
import type { MediaKind, TextModel } from '../../catalogue/types.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { AudioPart, FilePart, ImagePart, RerankOptions, TextRequest } from '../../text/canonical.ts';
import { mediaTypeOfLink } from '../../text/generate-content/media.ts';
import { createSchemaSizeBudget, withoutReferences } from '../../text/generate-content/schema.ts';
import { searchesOf } from '../../text/rerank/index.ts';
import { partsOf } from '../../text/turns.ts';
import { parseUrl } from '../../domain/parse-url.ts';

/** For separators, and for the text that upstreams add around tools. */
const TOKENS_PER_REQUEST = 64;
const TOKENS_FOR_TOOLS = 512;
/** For punctuation, and for the roles and names of the upstream's format. */
const TOKENS_PER_VALUE = 4;

/** Fields that no upstream shows to its model. */
const FIELDS_OUTSIDE_PROMPT: ReadonlySet<string> = new Set(['metadata', 'labels']);

/**
 * Counts all text of the body, including unknown fields: an upstream with the same format gets most of the body, and
 * vendors read fields that the format does not define.
 */
export function boundInput(request: TextRequest, body: JsonObject, model: TextModel): InputBound {
  const media = mediaOf(request);
  return {
    maxInputTokens: maxInputTokens(request, body, model, media),
    // A video has a sound track.
    hasAudio: media.some((medium) => ['audio', 'video'].includes(kindOf(medium))),
  };
}

/** The bound of a request's input. */
export interface InputBound {
  /** At most the model's limit, since an upstream refuses more. */
  readonly maxInputTokens: number;
  /** Whether upstreams may count audio in the prompt. */
  readonly hasAudio: boolean;
}

type Medium = ImagePart | FilePart | AudioPart;

function maxInputTokens(request: TextRequest, body: JsonObject, model: TextModel, media: readonly Medium[]): number {
  const limit = model.maxInputTokens;
  const isUncounted = lengthsOfData(media);
  const { inputCount = 0, tokenIdCount = 0 } = request.embeddings ?? {};
  // Token ids are counted as they are. Upstreams add a few tokens to each input.
  if (tokenIdCount > 0) return Math.min(TOKENS_PER_REQUEST + inputCount * TOKENS_PER_VALUE + tokenIdCount, limit);
  let tokens = TOKENS_PER_REQUEST + media.reduce((sum, medium) => sum + model.mediaTokens[kindOf(medium)], 0);
  if (request.tools.length > 0 || request.vendorTools !== undefined) tokens += TOKENS_FOR_TOOLS;
  tokens += tokensOfReferences(request, model) + tokensOfRepetition(request, limit);
  const take = (value: unknown): void => {
    if (tokens >= limit) return;
    tokens += TOKENS_PER_VALUE;
    if (typeof value === 'string') {
      if (!isUncounted(value)) tokens += maxTokenCount(value, limit - tokens);
    } else if (Array.isArray(value)) value.forEach(take);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        tokens += maxTokenCount(name, limit - tokens);
        take(inner);
      }
    } else tokens += maxTokenCount(String(value));
  };
  for (const [name, value] of Object.entries(body)) if (!FIELDS_OUTSIDE_PROMPT.has(name)) take(value);
  return Math.min(Math.ceil(tokens), limit);
}

/** The query counts again with each further document. */
function tokensOfRepetition({ rerank }: TextRequest, limit: number): number {
  if (rerank === undefined) return 0;
  const perDocument = TOKENS_PER_VALUE + maxTokenCount(rerank.query, limit);
  return (rerank.documents.length - 1) * perDocument;
}

/** The most searches that ranking the documents can count as. */
export function maxSearches(rerank: RerankOptions): number {
  return searchesOf(rerank, (text) => maxTokenCount(text));
}

function mediaOf({ turns }: TextRequest): readonly Medium[] {
  return partsOf(turns).filter((part) => part.type === 'image' || part.type === 'file' || part.type === 'audio');
}

/**
 * Recognises the data of media in a body by its length, which is cheaper than comparing bytes. If a text has the same
 * length, it is skipped, but the data is counted in its place.
 */
function lengthsOfData(media: readonly Medium[]): (value: string) => boolean {
  const counts = new Map<number, number>();
  for (const medium of media) {
    const data =
      medium.type === 'audio' ? medium.data : medium.source.kind === 'base64' ? medium.source.data : undefined;
    if (data !== undefined) counts.set(data.length, (counts.get(data.length) ?? 0) + 1);
  }
  return (value) => {
    const length = value.startsWith('data:') ? value.length - value.indexOf(',') - 1 : value.length;
    const count = counts.get(length) ?? 0;
    if (count > 0) counts.set(length, count - 1);
    return count > 0;
  };
}

/** The growth of schemas whose references are replaced for upstreams of the native format. */
function tokensOfReferences({ tools, outputFormat }: TextRequest, { routes }: TextModel): number {
  if (!routes.some(({ format }) => format === 'generate-content')) return 0;
  const budget = createSchemaSizeBudget();
  const permitted = budget.characters;
  const schemas = [
    ...tools.map(({ parameters }) => parameters),
    outputFormat && 'schema' in outputFormat ? outputFormat.schema : undefined,
  ];
  try {
    for (const schema of schemas) if (schema !== undefined) withoutReferences(schema, budget);
  } catch {
    // Routes of the native format refuse such a schema; others send it unchanged.
    return permitted;
  }
  return permitted - budget.characters;
}

/** Upstreams read links to this site as videos, even with another declared type. */
const VIDEO_SITE = /(?:^|\.)(?:youtube|youtube-nocookie|youtu)\.[a-z]+\.?$/;
/** Types that upstreams read as pages or text. Content of any other type is unknown. */
const DOCUMENT_TYPE =
  /^(?:text\/|application\/(?:pdf|json|xml|rtf|msword|csv|javascript|vnd\.(?:openxmlformats|ms-|oasis)))/;

/** The kind of a part; the most expensive kind if its type is unknown. */
function kindOf(medium: Medium): MediaKind {
  if (medium.type === 'audio') return 'audio';
  const { type, source } = medium;
  if (source.kind === 'url' && VIDEO_SITE.test(hostOf(source.url))) return 'video';
  const mediaType = source.mediaType ?? (source.kind === 'url' ? mediaTypeOfLink(source.url) : undefined);
  if (mediaType === undefined) return type === 'image' ? 'image' : 'video';
  if (mediaType.startsWith('image/')) return 'image';
  if (mediaType.startsWith('audio/')) return 'audio';
  return DOCUMENT_TYPE.test(mediaType) ? 'document' : 'video';
}

/** Longer addresses do not work. */
const MAX_ADDRESS_LENGTH = 8_192;

function hostOf(url: string): string {
  return parseUrl(url.slice(0, MAX_ADDRESS_LENGTH))?.hostname ?? '';
}

const ASCII = 0x80;
/** The most tokens per UTF-16 unit below each end, measured with random text of the range in current vocabularies. */
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
  [0xe000, 2], // surrogates of characters beyond
  [0x10000, 3],
];
const TOKENS_BY_UNIT = Float32Array.from({ length: 0x10000 }, (_, unit) =>
  unit < ASCII ? tokensOfAscii(String.fromCharCode(unit)) : (RANGES.find(([end]) => unit < end)?.[1] ?? 3),
);

/** In some vocabularies, each digit is a token. Text within JSON has its control characters escaped. */
function tokensOfAscii(character: string): number {
  if (character < ' ' && !'\t\r\n'.includes(character)) return 4;
  if (/[a-z ]/.test(character)) return 0.6;
  return /[A-Z\t\n\r!-/:-@[-`{-~]/.test(character) ? 0.8 : 1;
}

/**
 * An upper bound on the tokens of a text: about twice what English needs, and no less than random letters need.
 *
 * @param enough the bound at which counting may stop
 */
export function maxTokenCount(text: string, enough = Number.POSITIVE_INFINITY): number {
  let tokens = 0;
  for (let index = 0; index < text.length && tokens < enough; index += 1) {
    tokens += TOKENS_BY_UNIT[text.charCodeAt(index)] ?? 0;
  }
  return tokens;
}
