/** The input of a responses request (a string or a list of items) as canonical turns: contract 4.8.2. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { FilePart, ImagePart, InputPart, ReasoningPart, TextPart, ToolCallPart, Turn } from '../canonical.ts';
import { readUrl } from '../data-url.ts';
import {
  compact,
  join,
  oneOf,
  optional,
  readArray,
  readName,
  readObject,
  readString,
  readText,
  type Reader,
} from '../read.ts';
import { mergeNeighbours } from '../turns.ts';
import { ITEM_ID_PREFIXES } from './types.ts';

const ITEM_TYPES = ['message', 'reasoning', 'function_call', 'function_call_output', 'item_reference'] as const;

/**
 * Reads the value of `input`. Clients send an answer back as one item per part, so neighbouring items of one role
 * become one turn.
 *
 * @throws ServiceError `bad_request` that names the item or field that is missing, malformed or not supported
 */
export function parseInput(value: unknown): Turn[] {
  if (typeof value === 'string') {
    return [{ role: 'user', parts: [{ type: 'text', text: readText(value, 'input') }] }];
  }
  if (value === undefined || value === null) throw badRequest('"input" is required');
  if (!Array.isArray(value)) throw badRequest('"input" must be a string or an array');
  const turns = mergeNeighbours(readArray(value, 'input', readItem).flat());
  if (turns.length === 0) throw badRequest('"input" must hold at least one message');
  return turns;
}

/** The turn that an item becomes; none for an item without content. */
function readItem(value: unknown, path: string): Turn[] {
  const item = readObject(value, path);
  switch (oneOf(ITEM_TYPES)(itemTypeOf(item), join(path, 'type'))) {
    case 'message':
      return [readMessage(item, path)];
    case 'function_call':
      return [{ role: 'assistant', parts: [readFunctionCall(item, path)] }];
    case 'function_call_output': {
      const callId = readName(item['call_id'], join(path, 'call_id'));
      const content = readContent(item['output'], join(path, 'output'), readInputPart);
      return [{ role: 'tool', parts: [{ type: 'tool-result', callId, content }] }];
    }
    case 'reasoning': {
      const part = readReasoning(item, path);
      return part === null ? [] : [{ role: 'assistant', parts: [part] }];
    }
    default:
      return dropReference(item, path);
  }
}

/** The type of an input item, which messages and references may leave out. */
export function itemTypeOf(item: JsonObject): unknown {
  const untyped = item['role'] === undefined && typeof item['id'] === 'string' ? 'item_reference' : 'message';
  return item['type'] ?? untyped;
}

/**
 * Nothing is stored, so references cannot be followed. A reference to reasoning can be dropped, because the model will
 * think again; anything else would be missing from the conversation.
 */
function dropReference(item: JsonObject, path: string): [] {
  const id = readString(item['id'], join(path, 'id'));
  if (id.startsWith(ITEM_ID_PREFIXES.reasoning)) return [];
  throw badRequest(
    `"${path}" refers to the item "${id}", but items are not stored: send the item itself (some clients do with "store": false)`,
  );
}

function readMessage(item: JsonObject, path: string): Turn {
  const contentPath = join(path, 'content');
  const content = item['content'];
  switch (oneOf(['user', 'assistant', 'system', 'developer'])(item['role'], join(path, 'role'))) {
    case 'user':
      return { role: 'user', parts: readContent<InputPart>(content, contentPath, readInputPart) };
    case 'assistant':
      return { role: 'assistant', parts: readContent(content, contentPath, readAnswerText) };
    default:
      return { role: 'system', parts: readContent(content, contentPath, readInputText) };
  }
}

/** Content is a string or an array of parts; an empty string yields no part. */
function readContent<Part>(value: unknown, path: string, readPart: Reader<Part>): (Part | TextPart)[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }];
  if (Array.isArray(value)) return readArray(value, path, readPart);
  if (value === undefined || value === null) throw badRequest(`"${path}" is required`);
  throw badRequest(`"${path}" must be a string or an array`);
}

function readInputText(value: unknown, path: string): TextPart {
  const part = readObject(value, path);
  oneOf(['input_text'])(part['type'], join(path, 'type'));
  return { type: 'text', text: readString(part['text'], join(path, 'text')) };
}

function readAnswerText(value: unknown, path: string): TextPart {
  const part = readObject(value, path);
  const type = oneOf(['output_text', 'refusal', 'input_text'])(part['type'], join(path, 'type'));
  const field = type === 'refusal' ? 'refusal' : 'text';
  return { type: 'text', text: readString(part[field], join(path, field)) };
}

function readInputPart(value: unknown, path: string): InputPart {
  const part = readObject(value, path);
  switch (oneOf(['input_text', 'input_image', 'input_file'])(part['type'], join(path, 'type'))) {
    case 'input_text':
      return readInputText(part, path);
    case 'input_image':
      return readImage(part, path);
    default:
      return readFile(part, path);
  }
}

function readImage(part: JsonObject, path: string): ImagePart {
  refuseStoredFile(part, path, 'send the image in "image_url"');
  return compact({
    type: 'image',
    source: readUrl(part['image_url'], join(path, 'image_url')),
    detail: optional(part['detail'], join(path, 'detail'), readString),
  } as const);
}

function readFile(part: JsonObject, path: string): FilePart {
  refuseStoredFile(part, path, 'send the file in "file_data" or "file_url"');
  const field = part['file_url'] === undefined || part['file_url'] === null ? 'file_data' : 'file_url';
  return compact({
    type: 'file',
    source: readUrl(part[field], join(path, field)),
    filename: optional(part['filename'], join(path, 'filename'), readString),
  } as const);
}

function refuseStoredFile(part: JsonObject, path: string, advice: string): void {
  if (part['file_id'] === undefined || part['file_id'] === null) return;
  throw badRequest(`"${join(path, 'file_id')}" is not supported: ${advice}`);
}

function readFunctionCall(item: JsonObject, path: string): ToolCallPart {
  return {
    type: 'tool-call',
    callId: readName(item['call_id'], join(path, 'call_id')),
    name: readName(item['name'], join(path, 'name')),
    arguments: readString(item['arguments'], join(path, 'arguments')) || '{}',
  };
}

/** Reasoning as the client got it: its text, its signature, or both. Null when it has neither. */
function readReasoning(item: JsonObject, path: string): ReasoningPart | null {
  const text = [...readTexts(item, path, 'summary'), ...readTexts(item, path, 'content')].join('\n\n');
  const signature = optional(item['encrypted_content'], join(path, 'encrypted_content'), readString) || undefined;
  if (text === '' && signature === undefined) return null;
  return compact({ type: 'reasoning', text, signature, redacted: text === '' ? true : undefined } as const);
}

function readTexts(item: JsonObject, path: string, field: 'summary' | 'content'): string[] {
  return optional(item[field], join(path, field), (value, at) => readArray(value, at, readTextOf)) ?? [];
}

function readTextOf(value: unknown, path: string): string {
  return readString(readObject(value, path)['text'], join(path, 'text'));
}
