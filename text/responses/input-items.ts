/** The input of a responses request (a string or a list of items) as canonical turns: contract 4.8.2. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { FilePart, ImagePart, InputPart, ReasoningPart, TextPart, ToolCallPart, Turn } from '../canonical.ts';
import { readUrl } from '../data-url.ts';
import { fields, object, refused, typed } from '../fields.ts';
import {
  arrayOf,
  compact,
  constrained,
  contentOf,
  described,
  isSet,
  join,
  mapped,
  named,
  oneOf,
  optional,
  reader,
  readName,
  readObject,
  readString,
  readText,
} from '../read.ts';
import { mergeNeighbours } from '../turns.ts';
import { argumentsOfText, flatName } from './tools.ts';
import { ITEM_ID_PREFIXES } from './types.ts';

const textPart = object({ text: readString }, ({ text }): TextPart => ({ type: 'text', text }));
const refusalPart = object({ refusal: readString }, ({ refusal }): TextPart => ({ type: 'text', text: refusal }));

const imagePart = object(
  { file_id: refused('send the image in "image_url"'), image_url: readUrl, detail: optional(readString) },
  ({ image_url: source, detail }): ImagePart => compact({ type: 'image', source, detail }),
);

const filePart = mapped(
  fields({
    file_id: refused('send the file in "file_data" or "file_url"'),
    file_url: optional(readUrl),
    file_data: optional(readUrl),
    filename: optional(readString),
  }),
  (part): FilePart => {
    const source = part.get('file_url') ?? part.getAs('file_data', readUrl);
    return compact({ type: 'file', source, filename: part.get('filename') });
  },
);

const inputParts = { input_text: textPart, input_image: imagePart, input_file: filePart };
const answerParts = { output_text: textPart, refusal: refusalPart, input_text: textPart };
const contentPart = named('ResponsesContentPart', typed<InputPart>({ ...inputParts, ...answerParts }));

const readInputContent = contentOf(typed<InputPart>(inputParts));
const readAnswerContent = contentOf(typed<TextPart>(answerParts));
const readSystemContent = contentOf(typed<TextPart>({ input_text: textPart }));

const messageItem = fields({
  type: optional(oneOf(['message'])),
  role: oneOf(['user', 'assistant', 'system', 'developer']),
  content: contentOf(contentPart),
});

const functionCallItem = object(
  {
    type: oneOf(['function_call']),
    call_id: readName,
    name: readName,
    namespace: optional(readName),
    arguments: described(readString, 'JSON'),
  },
  (call): ToolCallPart => ({ ...callOf(call), arguments: call.arguments || '{}' }),
);

/** The call of a tool that takes free text. */
const customCallItem = object(
  {
    type: oneOf(['custom_tool_call']),
    call_id: readName,
    name: readName,
    namespace: optional(readName),
    input: readString,
  },
  (call): ToolCallPart => ({ ...callOf(call), arguments: argumentsOfText(call.input) }),
);

function callOf({
  call_id: callId,
  name,
  namespace,
}: {
  call_id: string;
  name: string;
  namespace?: string | undefined;
}) {
  return { type: 'tool-call', callId, name: namespace === undefined ? name : flatName(namespace, name) } as const;
}

const outputItem = fields({
  type: oneOf(['function_call_output', 'custom_tool_call_output']),
  call_id: readName,
  output: contentOf(contentPart),
});

const reasoningPart = named(
  'ResponsesReasoningPart',
  object({ text: readString }, ({ text }) => text),
);

/** Reasoning as the client got it: its text, its signature, or both. Null when it has neither. */
const reasoningItem = object(
  {
    type: oneOf(['reasoning']),
    summary: optional(arrayOf(reasoningPart)),
    content: optional(arrayOf(reasoningPart)),
    encrypted_content: optional(readString),
  },
  ({ summary = [], content = [], encrypted_content }): ReasoningPart | null => {
    const text = [...summary, ...content].join('\n\n');
    const signature = encrypted_content || undefined;
    if (text === '' && signature === undefined) return null;
    return compact({ type: 'reasoning', text, signature, redacted: text === '' ? true : undefined } as const);
  },
);

/** A report of an agent, in the form of a tool output without a call. */
const noticeItem = fields({
  type: oneOf(['function_call_output']),
  name: readName,
  output: contentOf(contentPart),
});

const referenceItem = fields(
  { type: optional(oneOf(['item_reference'])), id: readString },
  { description: 'Genway stores no items: references to reasoning are ignored, all other references refused.' },
);

const itemType = oneOf([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'item_reference',
]);

const inputItem = named(
  'ResponsesInputItem',
  reader(
    {
      anyOf: [messageItem, functionCallItem, customCallItem, outputItem, noticeItem, reasoningItem, referenceItem].map(
        ({ schema }) => schema,
      ),
    },
    readItem,
  ),
);

const inputText = mapped(readText, (text): Turn[] => [{ role: 'user', parts: [{ type: 'text', text }] }]);
const inputItems = constrained(arrayOf(inputItem), { minItems: 1 });

/** The value of `input`. Clients send an answer back as one item per part, so neighbouring items of one role become one turn. */
export const readInput = reader({ oneOf: [inputText.schema, inputItems.schema] }, (value, path): Turn[] => {
  if (typeof value === 'string') return inputText(value, path);
  if (!isSet(value)) throw badRequest(`"${path}" is required`);
  if (!Array.isArray(value)) throw badRequest(`"${path}" must be a string or an array`);
  const turns = mergeNeighbours(inputItems(value, path).flat());
  if (turns.length === 0) throw badRequest(`"${path}" must contain at least one message`);
  return turns;
});

/** The turn that an item becomes; none for an item without content. */
function readItem(value: unknown, path: string): Turn[] {
  const item = readObject(value, path);
  switch (itemType(itemTypeOf(item), join(path, 'type'))) {
    case 'message':
      return [turnOf(messageItem(item, path))];
    case 'function_call':
      return [{ role: 'assistant', parts: [functionCallItem(item, path)] }];
    case 'custom_tool_call':
      return [{ role: 'assistant', parts: [customCallItem(item, path)] }];
    case 'function_call_output':
    case 'custom_tool_call_output': {
      if (!isSet(item['call_id']) && isSet(item['name'])) return [noticeOf(noticeItem(item, path))];
      const output = outputItem(item, path);
      const callId = output.get('call_id');
      return [
        { role: 'tool', parts: [{ type: 'tool-result', callId, content: output.getAs('output', readInputContent) }] },
      ];
    }
    case 'reasoning': {
      const part = reasoningItem(item, path);
      return part === null ? [] : [{ role: 'assistant', parts: [part] }];
    }
    default:
      return dropReference(referenceItem(item, path));
  }
}

/** A notice is for the model to read: a message of the user, since no call waits for it. */
function noticeOf(notice: ReturnType<typeof noticeItem>): Turn {
  const parts = notice.getAs('output', readInputContent);
  return { role: 'user', parts: [{ type: 'text', text: `${notice.get('name')}:` }, ...parts] };
}

/** The type of an input item, which messages and references may leave out. */
export function itemTypeOf(item: JsonObject): unknown {
  const untyped = item['role'] === undefined && typeof item['id'] === 'string' ? 'item_reference' : 'message';
  return item['type'] ?? untyped;
}

function turnOf(message: ReturnType<typeof messageItem>): Turn {
  const role = message.get('role');
  switch (role) {
    case 'user':
      return { role, parts: message.getAs('content', readInputContent) };
    case 'assistant':
      return { role, parts: message.getAs('content', readAnswerContent) };
    default:
      return { role: 'system', parts: message.getAs('content', readSystemContent) };
  }
}

/**
 * The gateway stores no answers, so it cannot follow references. A reference to reasoning can be dropped, because the model will
 * think again; anything else would be missing from the conversation.
 */
function dropReference(reference: ReturnType<typeof referenceItem>): [] {
  const id = reference.get('id');
  if (id.startsWith(ITEM_ID_PREFIXES.reasoning)) return [];
  throw badRequest(
    `"${reference.path}" refers to the item "${id}", but items are not stored: send the item itself (some clients do with "store": false)`,
  );
}
