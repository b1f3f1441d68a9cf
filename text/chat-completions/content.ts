/** The shapes in which upstreams of chat completions give text and reasoning, besides the format's own. */
import { arrayOf, objectOf, stringOf } from '../upstream-errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { Piece } from './thinking-tags.ts';

const REASONING_TYPES = new Set(['thinking', 'reasoning', 'reasoning_content', 'thought']);

/** The fields of an answer that hold reasoning; where several do, they say the same. */
const REASONING_FIELDS = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'thinking_blocks',
  'reasoning_details',
];

/** The fields of a part that hold its reasoning, which may be parts again. */
const PART_FIELDS = ['thinking', 'reasoning', 'reasoning_content', 'text', 'summary', 'content'];

/** Reasoning parts hold parts of text, and nothing deeper. */
const MAXIMUM_DEPTH = 3;

/** The reasoning that stands beside the content. */
export function reasoningOf(answer: JsonObject): string {
  for (const field of REASONING_FIELDS) {
    const text = reasoningText(answer[field]);
    if (text !== '') return text;
  }
  return '';
}

/** The content's text and reasoning in their order. It is a string; some upstreams send parts. */
export function piecesOfContent(content: unknown): Piece[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return arrayOf(content)
    .map(pieceOfPart)
    .filter(({ text }) => text !== '');
}

function pieceOfPart(value: unknown): Piece {
  if (typeof value === 'string') return { type: 'text', text: value };
  const part = objectOf(value);
  if (REASONING_TYPES.has(stringOf(part['type']))) return { type: 'reasoning', text: reasoningText(part) };
  return { type: 'text', text: stringOf(part['text']) || stringOf(part['refusal']) };
}

/** The text of reasoning, which is a string, a part or a list of parts. */
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
