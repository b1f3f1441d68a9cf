/** The input of a responses request (a string or a list of items) as canonical turns: contract 4.8.2. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type {
  AssistantPart,
  FilePart,
  ImagePart,
  InputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../canonical.ts';
import { pictureOf, readUrl } from '../data-url.ts';
import { fields, object, refused, typed } from '../fields.ts';
import { argumentsOfText } from '../free-text-tools.ts';
import { jsonTextOf } from '../json/write.ts';
import {
  anything,
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
import { readRefusal } from '../settings.ts';
import { mergeNeighbours } from '../turns.ts';
import { COMPACTION_TRIGGER, readSummary } from './compaction.ts';
import { flatName, TOOL_SEARCH, TOOLS, VENDOR_TOOL_ITEMS } from './tools.ts';
import { COMPACTION_ITEMS, ITEM_ID_PREFIXES } from './types.ts';

const textPart = object({ text: readString }, ({ text }): TextPart => ({ type: 'text', text }));

const imagePart = object(
  {
    file_id: refused('send the image in "image_url"'),
    image_url: mapped(readUrl, pictureOf),
    detail: optional(readString),
  },
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
const answerParts = { output_text: textPart, refusal: readRefusal, input_text: textPart };
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

/** The client's search for tools; the vendor's own searches have no `call_id`, and stay between it and its models. */
const toolSearchCallItem = object(
  { type: oneOf(['tool_search_call']), call_id: optional(readName), arguments: optional(anything) },
  ({ call_id: callId, arguments: input }): ToolCallPart | null =>
    callId === undefined ? null : { type: 'tool-call', callId, name: TOOL_SEARCH, arguments: jsonTextOf(input ?? {}) },
);

/** The tools that a search found, which the request offers: {@link toolsOfInput}. */
const toolSearchOutputItem = object(
  { type: oneOf(['tool_search_output']), call_id: optional(readName), tools: optional(TOOLS.full) },
  ({ call_id: callId, tools = [] }): ToolResultPart | null => {
    const found = tools.map(({ name }) => name).join(', ');
    const text = found === '' ? 'No tools found.' : `Found these tools, which can be called now: ${found}`;
    return callId === undefined ? null : { type: 'tool-result', callId, content: [{ type: 'text', text }] };
  },
);

/** Tools that a developer adds in mid-conversation. */
const additionalToolsItem = fields({ type: oneOf(['additional_tools']), tools: TOOLS.full });

/**
 * Records of tools that the vendor ran, or that only its models know, which mean nothing to upstreams of other formats. The vendor's
 * summary of an earlier conversation is encrypted: https://platform.openai.com/docs/guides/compaction
 */
const HOSTED_ITEMS = [
  ...COMPACTION_ITEMS,
  COMPACTION_TRIGGER,
  'agent_reasoning',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  ...VENDOR_TOOL_ITEMS,
] as const;
const hostedItem = fields(
  { type: oneOf(HOSTED_ITEMS) },
  { description: 'Passed to models with this format. No effect on other models' },
);

/** An image that a model made: a record of a hosted tool at the vendor, which other models know from its image. */
const imageItem = object(
  { type: oneOf(['image_generation_call']), result: optional(readString) },
  ({ result = '' }): ImagePart | null =>
    result === ''
      ? null
      : { type: 'image', source: pictureOf({ kind: 'base64', mediaType: 'image/png', data: result }) },
);

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

const agentPart = named(
  'ResponsesAgentPart',
  typed<TextPart>({
    input_text: textPart,
    text: textPart,
    encrypted_content: object({ encrypted_content: readString }, ({ encrypted_content: text }) => ({
      type: 'text',
      text,
    })),
  }),
);

/** A message between the agents of a client. Its task is `encrypted_content`, which is plain unless the vendor encrypted it. */
const agentMessageItem = object(
  { type: oneOf(['agent_message']), content: optional(contentOf(agentPart)) },
  ({ content = [] }): Turn => ({ role: 'user', parts: content }),
);

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
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'agent_message',
  'image_generation_call',
  ...HOSTED_ITEMS,
  'item_reference',
]);

const inputItem = named(
  'ResponsesInputItem',
  reader(
    {
      anyOf: [
        messageItem,
        functionCallItem,
        customCallItem,
        outputItem,
        noticeItem,
        toolSearchCallItem,
        toolSearchOutputItem,
        additionalToolsItem,
        agentMessageItem,
        hostedItem,
        imageItem,
        reasoningItem,
        referenceItem,
      ].map(({ schema }) => schema),
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
    case 'reasoning':
      return answerOf(reasoningItem(item, path));
    case 'image_generation_call':
      return answerOf(imageItem(item, path));
    case 'tool_search_call':
      return answerOf(toolSearchCallItem(item, path));
    case 'tool_search_output': {
      const result = toolSearchOutputItem(item, path);
      return result === null ? [] : [{ role: 'tool', parts: [result] }];
    }
    case 'agent_message':
      return [agentMessageItem(item, path)];
    case 'item_reference':
      return dropReference(referenceItem(item, path));
    default: {
      // Tools, which are no turns, or records of hosted tools.
      const summary = readSummary(item);
      return summary === null ? [] : [{ role: 'user', parts: [{ type: 'text', text: summary }] }];
    }
  }
}

function answerOf(part: AssistantPart | null): Turn[] {
  return part === null ? [] : [{ role: 'assistant', parts: [part] }];
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
