/** The shapes, besides the format's own, in which chat-completions upstreams send text and reasoning. */
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { Source } from '../canonical.ts';
import { pictureOf, sourceOf } from '../data-url.ts';
import type { Piece } from './thinking-tags.ts';

const REASONING_TYPES = new Set(['thinking', 'reasoning', 'reasoning_content', 'thought']);

/** The fields that may contain an answer's reasoning; if several do, they are the same. */
const REASONING_FIELDS = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'thinking_blocks',
  'reasoning_details',
];

/** The fields that may contain a part's reasoning, possibly as nested parts. */
const PART_FIELDS = ['thinking', 'reasoning', 'reasoning_content', 'text', 'summary', 'content'];

/** Reasoning parts contain text parts, and nothing deeper. */
const MAXIMUM_DEPTH = 3;

/** One list for all: nearly every delta has no images. */
const NO_IMAGES: readonly Source[] = [];

/** The reasoning next to the content. */
export function reasoningOf(answer: JsonObject): string {
  for (const field of REASONING_FIELDS) {
    const text = reasoningText(answer[field]);
    if (text !== '') return text;
  }
  return '';
}

/** The images in a delta or message: https://openrouter.ai/docs/features/multimodal/image-generation */
export function imagesOf({ images }: JsonObject): readonly Source[] {
  if (!Array.isArray(images)) return NO_IMAGES;
  const urls = images.map((image) => stringOf(objectOf(objectOf(image)['image_url'])['url']));
  return urls.map(sourceOf).flatMap((source) => (source === null ? [] : pictureOf(source)));
}

/** The text and reasoning in the content, in order. Content is a string, but some upstreams send parts. */
export function piecesOfContent(content: unknown): Piece[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return listOf(content)
    .map(pieceOfPart)
    .filter(({ text }) => text !== '');
}

function pieceOfPart(value: unknown): Piece {
  if (typeof value === 'string') return { type: 'text', text: value };
  const part = objectOf(value);
  if (REASONING_TYPES.has(stringOf(part['type']))) return { type: 'reasoning', text: reasoningText(part) };
  return { type: 'text', text: stringOf(part['text']) || stringOf(part['refusal']) };
}

/** The text of reasoning: a string, a part or a list of parts. */
export function reasoningText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth > MAXIMUM_DEPTH) return '';
  if (Array.isArray(value)) return value.map((part) => reasoningText(part, depth + 1)).join('');
  if (!isObject(value)) return '';
  for (const field of PART_FIELDS) {
    const text = reasoningText(value[field], depth + 1);
    if (text !== '') return text;
  }
  return '';
}
