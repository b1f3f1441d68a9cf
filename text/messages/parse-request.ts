/** A messages body as a canonical request: contract 4.8.3. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type {
  AnswerPart,
  FilePart,
  ImagePart,
  InputPart,
  OutputFormat,
  TextPart,
  TextRequest,
  Tool,
  ToolChoice,
  ToolResultPart,
  Turn,
} from '../canonical.ts';
import { readUrl } from '../data-url.ts';
import { checkFields } from '../fields.ts';
import {
  compact,
  integerBetween,
  join,
  numberBetween,
  oneOf,
  optional,
  readArray,
  readBoolean,
  readName,
  readObject,
  readStopSequences,
  readString,
  readText,
  type Reader,
} from '../read.ts';
import { REQUEST_FIELDS } from './types.ts';

/** This format's schemas have no name, but other formats require one. */
const SCHEMA_NAME = 'answer';

/** Other formats accept no longer names for end users; the beginning of a longer one still distinguishes users. */
const MAXIMUM_USER_ID_LENGTH = 64;

export function parseRequest(body: unknown): TextRequest {
  const fields = readObject(body, '');
  checkFields(fields, '', REQUEST_FIELDS, 'refuse');
  const turns = readArray(fields['messages'], 'messages', readMessage).flat();
  if (turns.length === 0) throw badRequest('"messages" requires at least 1 item');
  const tools = optional(fields['tools'], 'tools', (value, path) => readArray(value, path, readTool)) ?? [];
  const outputConfig = optional(fields['output_config'], 'output_config', readObject) ?? {};
  const metadata = optional(fields['metadata'], 'metadata', readObject);
  return compact({
    model: readName(fields['model'], 'model'),
    stream: optional(fields['stream'], 'stream', readBoolean) ?? false,
    turns: [...readSystem(fields['system']), ...turns],
    tools,
    // Without tools the choice has no effect, whatever it is.
    ...(tools.length === 0 ? {} : optional(fields['tool_choice'], 'tool_choice', readToolChoice)),
    sampling: readSampling(fields),
    reasoningEffort: optional(
      outputConfig['effort'],
      'output_config.effort',
      oneOf(['low', 'medium', 'high', 'xhigh', 'max']),
    ),
    outputFormat: optional(outputConfig['format'], 'output_config.format', readOutputFormat),
    userId: optional(metadata?.['user_id'], 'metadata.user_id', readString)?.slice(0, MAXIMUM_USER_ID_LENGTH),
  });
}

function readSampling(fields: JsonObject): TextRequest['sampling'] {
  return compact({
    maxOutputTokens: integerBetween(1, Number.MAX_SAFE_INTEGER)(fields['max_tokens'], 'max_tokens'),
    temperature: optional(fields['temperature'], 'temperature', numberBetween(0, 2)),
    topP: optional(fields['top_p'], 'top_p', numberBetween(0, 1)),
    topK: optional(fields['top_k'], 'top_k', integerBetween(0, Number.MAX_SAFE_INTEGER)),
    stopSequences: optional(fields['stop_sequences'], 'stop_sequences', readStopSequences),
  });
}

function readSystem(value: unknown): Turn[] {
  const parts = optional(value, 'system', (system, path) => readContent(system, path, readTextPart)) ?? [];
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

/**
 * A message as turns. The tool results in a user message become a turn of their own, before the rest of the message.
 * System messages, which newer clients send for instructions in mid-conversation, stay where they are.
 */
function readMessage(value: unknown, path: string): Turn[] {
  const message = readObject(value, path);
  const content = message['content'];
  const contentPath = join(path, 'content');
  switch (oneOf(['user', 'assistant', 'system'])(message['role'], join(path, 'role'))) {
    case 'user':
      return userTurns(readContent(content, contentPath, readUserBlock));
    case 'assistant':
      return [{ role: 'assistant', parts: readContent(content, contentPath, readAnswerBlock) }];
    default:
      return [{ role: 'system', parts: readContent(content, contentPath, readTextPart) }];
  }
}

function userTurns(blocks: readonly (InputPart | ToolResultPart)[]): Turn[] {
  const results = blocks.filter((block) => block.type === 'tool-result');
  const input = blocks.filter((block) => block.type !== 'tool-result');
  if (results.length === 0) return [{ role: 'user', parts: input }];
  const answered: Turn = { role: 'tool', parts: results };
  return input.length === 0 ? [answered] : [answered, { role: 'user', parts: input }];
}

/** Content is a string or an array of blocks; an empty string yields no block. */
function readContent<Part>(value: unknown, path: string, readBlock: Reader<Part>): (Part | TextPart)[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }];
  if (Array.isArray(value)) return readArray(value, path, readBlock);
  if (value === undefined || value === null) throw badRequest(`"${path}" is required`);
  throw badRequest(`"${path}" must be a string or an array`);
}

function readTextPart(value: unknown, path: string): TextPart {
  const block = readObject(value, path);
  oneOf(['text'])(block['type'], join(path, 'type'));
  return { type: 'text', text: readString(block['text'], join(path, 'text')) };
}

function readUserBlock(value: unknown, path: string): InputPart | ToolResultPart {
  const block = readObject(value, path);
  const type = oneOf(['text', 'image', 'document', 'tool_result'])(block['type'], join(path, 'type'));
  return type === 'tool_result' ? readToolResult(block, path) : readInputBlock(block, path);
}

function readToolResult(block: JsonObject, path: string): ToolResultPart {
  return compact({
    type: 'tool-result',
    callId: readName(block['tool_use_id'], join(path, 'tool_use_id')),
    content:
      optional(block['content'], join(path, 'content'), (value, at) => readContent(value, at, readInputBlock)) ?? [],
    isError: optional(block['is_error'], join(path, 'is_error'), readBoolean),
  } as const);
}

function readInputBlock(value: unknown, path: string): InputPart {
  const block = readObject(value, path);
  const sourcePath = join(path, 'source');
  switch (oneOf(['text', 'image', 'document'])(block['type'], join(path, 'type'))) {
    case 'text':
      return readTextPart(block, path);
    case 'image':
      return readImage(readObject(block['source'], sourcePath), sourcePath);
    default: {
      const filename = optional(block['title'], join(path, 'title'), readString);
      return readDocument(readObject(block['source'], sourcePath), sourcePath, filename);
    }
  }
}

function readImage(source: JsonObject, path: string): ImagePart {
  const type = oneOf(['base64', 'url'])(source['type'], join(path, 'type'));
  if (type === 'url') return { type: 'image', source: readUrl(source['url'], join(path, 'url')) };
  return { type: 'image', source: readBytes(source, path) };
}

/** A document is a file, or plain text. */
function readDocument(source: JsonObject, path: string, filename: string | undefined): FilePart | TextPart {
  switch (oneOf(['base64', 'url', 'text'])(source['type'], join(path, 'type'))) {
    case 'base64':
      return compact({ type: 'file', source: readBytes(source, path), filename } as const);
    case 'url': {
      const file = readUrl(source['url'], join(path, 'url'));
      // Links can only lead to PDF.
      return compact({ type: 'file', source: { mediaType: 'application/pdf', ...file }, filename } as const);
    }
    default:
      return { type: 'text', text: readString(source['data'], join(path, 'data')) };
  }
}

function readBytes(source: JsonObject, path: string): { kind: 'base64'; mediaType: string; data: string } {
  return {
    kind: 'base64',
    mediaType: readName(source['media_type'], join(path, 'media_type')).toLowerCase(),
    data: readText(source['data'], join(path, 'data')),
  };
}

function readAnswerBlock(value: unknown, path: string): AnswerPart {
  const block = readObject(value, path);
  const types = ['text', 'thinking', 'redacted_thinking', 'tool_use'] as const;
  switch (oneOf(types)(block['type'], join(path, 'type'))) {
    case 'text':
      return readTextPart(block, path);
    case 'thinking': {
      const signature = optional(block['signature'], join(path, 'signature'), readString);
      const text = readString(block['thinking'], join(path, 'thinking'));
      return compact({ type: 'reasoning', text, signature: signature || undefined } as const);
    }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', signature: readText(block['data'], join(path, 'data')), redacted: true };
    default:
      return {
        type: 'tool-call',
        callId: readName(block['id'], join(path, 'id')),
        name: readName(block['name'], join(path, 'name')),
        arguments: JSON.stringify(optional(block['input'], join(path, 'input'), readObject) ?? {}),
      };
  }
}

function readTool(value: unknown, path: string): Tool {
  const tool = readObject(value, path);
  const type = optional(tool['type'], join(path, 'type'), readString) ?? 'custom';
  if (type !== 'custom') {
    const advice = 'send a tool with a name and an input_schema';
    throw badRequest(`"${join(path, 'type')}" is not supported: there is no hosted tool "${type}"; ${advice}`);
  }
  return compact({
    name: readName(tool['name'], join(path, 'name')),
    description: optional(tool['description'], join(path, 'description'), readString),
    parameters: optional(tool['input_schema'], join(path, 'input_schema'), readObject),
    strict: optional(tool['strict'], join(path, 'strict'), readBoolean),
  });
}

function readToolChoice(value: unknown, path: string): Pick<TextRequest, 'toolChoice' | 'parallelToolCalls'> {
  const choice = readObject(value, path);
  const isSerial = optional(choice['disable_parallel_tool_use'], join(path, 'disable_parallel_tool_use'), readBoolean);
  return { toolChoice: readChoice(choice, path), parallelToolCalls: isSerial === true ? false : undefined };
}

function readChoice(choice: JsonObject, path: string): ToolChoice {
  const type = oneOf(['auto', 'any', 'tool', 'none'])(choice['type'], join(path, 'type'));
  if (type === 'tool') return { type, name: readName(choice['name'], join(path, 'name')) };
  return { type: type === 'any' ? 'required' : type };
}

function readOutputFormat(value: unknown, path: string): OutputFormat {
  const format = readObject(value, path);
  oneOf(['json_schema'])(format['type'], join(path, 'type'));
  return { type: 'json-schema', name: SCHEMA_NAME, schema: readObject(format['schema'], join(path, 'schema')) };
}
