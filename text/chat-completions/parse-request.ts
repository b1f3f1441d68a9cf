/** A chat-completions body as a canonical request: contract 4.8.1. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import {
  REASONING_EFFORTS,
  type AnswerPart,
  type FilePart,
  type InputPart,
  type OutputFormat,
  type ReasoningPart,
  type TextPart,
  type TextRequest,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type Turn,
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
  readId,
  readName,
  readObject,
  readStopSequences,
  readString,
  readText,
} from '../read.ts';
import { NamedCalls } from '../named-calls.ts';
import { reasoningText } from './content.ts';
import { MESSAGE_FIELDS, REQUEST_FIELDS } from './types.ts';

const MAXIMUM_CHOICES = 128;

export function parseRequest(body: unknown): TextRequest {
  const fields = readObject(body, '');
  checkFields(fields, '', REQUEST_FIELDS, 'refuse');
  optional(fields['modalities'], 'modalities', (value, path) => readArray(value, path, oneOf(['text'])));
  const calls = new NamedCalls();
  const turns = readArray(fields['messages'], 'messages', (value, path) => readMessage(value, path, calls));
  if (turns.length === 0) throw badRequest('"messages" requires at least 1 item');
  const streamOptions = optional(fields['stream_options'], 'stream_options', readObject);
  return compact({
    model: readName(fields['model'], 'model'),
    stream: optional(fields['stream'], 'stream', readBoolean) ?? false,
    includeUsage: optional(streamOptions?.['include_usage'], 'stream_options.include_usage', readBoolean),
    turns,
    ...readTools(fields, calls.count > 0),
    sampling: readSampling(fields),
    reasoningEffort: optional(fields['reasoning_effort'], 'reasoning_effort', oneOf(REASONING_EFFORTS)),
    outputFormat: optional(fields['response_format'], 'response_format', readOutputFormat),
    verbosity: optional(fields['verbosity'], 'verbosity', oneOf(['low', 'medium', 'high'])),
    userId: optional(fields['user'], 'user', readString),
    chatFields: readChatFields(fields),
  });
}

/** The tools, including those under the older name `functions`. */
function readTools(
  fields: JsonObject,
  hasFunctionCalls: boolean,
): Pick<TextRequest, 'tools' | 'toolChoice' | 'parallelToolCalls' | 'functions'> {
  const tools = optional(fields['tools'], 'tools', (value, path) => readArray(value, path, readTool));
  const functions = optional(fields['functions'], 'functions', (value, path) => readArray(value, path, readFunction));
  const toolChoice = optional(fields['tool_choice'], 'tool_choice', readToolChoice);
  const functionChoice = optional(fields['function_call'], 'function_call', readFunctionChoice);
  const parallel = optional(fields['parallel_tool_calls'], 'parallel_tool_calls', readBoolean);
  const answers = functions !== undefined && tools === undefined;
  return {
    tools: [...(tools ?? []), ...(functions ?? [])],
    toolChoice: toolChoice ?? functionChoice,
    // An answer that uses functions has room for one call only.
    parallelToolCalls: answers ? false : parallel,
    functions: functions !== undefined || functionChoice !== undefined || hasFunctionCalls ? { answers } : undefined,
  };
}

function readChatFields(fields: JsonObject): JsonObject | undefined {
  const some = compact({
    audio: optional(fields['audio'], 'audio', readObject),
    web_search_options: optional(fields['web_search_options'], 'web_search_options', readObject),
  });
  return Object.keys(some).length === 0 ? undefined : some;
}

function readSampling(fields: JsonObject): TextRequest['sampling'] {
  const tokens = integerBetween(1, Number.MAX_SAFE_INTEGER);
  const penalty = numberBetween(-2, 2);
  return compact({
    maxOutputTokens: largest(
      optional(fields['max_completion_tokens'], 'max_completion_tokens', tokens),
      optional(fields['max_tokens'], 'max_tokens', tokens),
    ),
    temperature: optional(fields['temperature'], 'temperature', numberBetween(0, 2)),
    topP: optional(fields['top_p'], 'top_p', numberBetween(0, 1)),
    topK: optional(fields['top_k'], 'top_k', integerBetween(0, Number.MAX_SAFE_INTEGER)),
    stopSequences: optional(fields['stop'], 'stop', (value, path) =>
      readStopSequences(typeof value === 'string' ? [value] : value, path),
    ),
    seed: optional(fields['seed'], 'seed', integerBetween(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
    frequencyPenalty: optional(fields['frequency_penalty'], 'frequency_penalty', penalty),
    presencePenalty: optional(fields['presence_penalty'], 'presence_penalty', penalty),
    choiceCount: optional(fields['n'], 'n', integerBetween(1, MAXIMUM_CHOICES)),
  });
}

/** Some clients send the bound under both its names. */
function largest(...bounds: readonly (number | undefined)[]): number | undefined {
  const set = bounds.filter((bound) => bound !== undefined);
  return set.length === 0 ? undefined : Math.max(...set);
}

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

function readMessage(value: unknown, path: string, calls: NamedCalls): Turn {
  const message = readObject(value, path);
  checkFields(message, path, MESSAGE_FIELDS, 'ignore');
  const content = message['content'];
  const contentPath = join(path, 'content');
  switch (oneOf(ROLES)(message['role'], join(path, 'role'))) {
    case 'system':
    case 'developer':
      return { role: 'system', parts: readContent(content, contentPath, readTextPart) };
    case 'user':
      return { role: 'user', parts: readContent<InputPart>(content, contentPath, readInputPart) };
    case 'assistant':
      return { role: 'assistant', parts: readAnswer(message, path, calls) };
    case 'function':
      return readFunctionResult(message, path, calls);
    default: {
      const callId = readId(message['tool_call_id'], join(path, 'tool_call_id'));
      const parts = readContent<InputPart>(content, contentPath, readInputPart);
      return { role: 'tool', parts: [{ type: 'tool-result', callId, content: parts }] };
    }
  }
}

/** Content is a string or an array of parts; an empty string yields no part. */
function readContent<Part>(
  value: unknown,
  path: string,
  readPart: (value: unknown, path: string) => Part,
): (Part | TextPart)[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }];
  if (Array.isArray(value)) return readArray(value, path, readPart);
  if (value === undefined || value === null) throw badRequest(`"${path}" is required`);
  throw badRequest(`"${path}" must be a string or an array`);
}

function readTextPart(value: unknown, path: string): TextPart {
  const part = readObject(value, path);
  oneOf(['text'])(part['type'], join(path, 'type'));
  return { type: 'text', text: readString(part['text'], join(path, 'text')) };
}

function readInputPart(value: unknown, path: string): InputPart {
  const part = readObject(value, path);
  switch (oneOf(['text', 'image_url', 'file', 'input_audio'])(part['type'], join(path, 'type'))) {
    case 'text':
      return readTextPart(part, path);
    case 'image_url': {
      const imagePath = join(path, 'image_url');
      const image = readObject(part['image_url'], imagePath);
      const source = readUrl(image['url'], join(imagePath, 'url'));
      return compact({
        type: 'image',
        source,
        detail: optional(image['detail'], join(imagePath, 'detail'), readString),
      } as const);
    }
    case 'file':
      return readFile(readObject(part['file'], join(path, 'file')), join(path, 'file'));
    default: {
      const audioPath = join(path, 'input_audio');
      const audio = readObject(part['input_audio'], audioPath);
      const format = oneOf(['wav', 'mp3'])(audio['format'], join(audioPath, 'format'));
      const data = readText(audio['data'], join(audioPath, 'data'));
      return { type: 'file', source: { kind: 'base64', mediaType: `audio/${format}`, data } };
    }
  }
}

function readFile(file: JsonObject, path: string): FilePart {
  if (typeof file['file_id'] === 'string') {
    throw badRequest(`"${join(path, 'file_id')}" is not supported: send the file in "file_data"`);
  }
  return compact({
    type: 'file',
    source: readUrl(file['file_data'], join(path, 'file_data')),
    filename: optional(file['filename'], join(path, 'filename'), readString),
  } as const);
}

/** The parts of an assistant message in the order in which models write them: reasoning, text, tool calls. */
function readAnswer(message: JsonObject, path: string, functionCalls: NamedCalls): AnswerPart[] {
  const reasoning =
    optional(message['reasoning_content'], join(path, 'reasoning_content'), readString) ??
    optional(message['reasoning'], join(path, 'reasoning'), readString);
  const content = optional(message['content'], join(path, 'content'), (value, at) =>
    readContent(value, at, readAnswerPart),
  );
  const refusal = optional(message['refusal'], join(path, 'refusal'), readString);
  const calls = optional(message['tool_calls'], join(path, 'tool_calls'), (value, at) =>
    readArray(value, at, readToolCall),
  );
  const called = optional(message['function_call'], join(path, 'function_call'), readCalled);
  return [
    ...(reasoning === undefined || reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...(content ?? []),
    ...(refusal === undefined || refusal === '' ? [] : [{ type: 'text', text: refusal } as const]),
    ...(calls ?? []),
    ...(called === undefined
      ? []
      : [{ type: 'tool-call', callId: functionCalls.add(undefined, called.name), ...called } as const]),
  ];
}

/** A message that answers a function call, which it identifies by the function's name. */
function readFunctionResult(message: JsonObject, path: string, calls: NamedCalls): Turn {
  const name = readName(message['name'], join(path, 'name'));
  const callId = calls.answer(undefined, name);
  if (callId === null) throw badRequest(`"${path}" must answer a function_call of "${name}" before it`);
  const content = readContent<InputPart>(message['content'] ?? '', join(path, 'content'), readInputPart);
  return { role: 'tool', parts: [{ type: 'tool-result', callId, name, content }] };
}

/** Clients send the parts of an answer back as the upstream sent them, thinking included. */
function readAnswerPart(value: unknown, path: string): TextPart | ReasoningPart {
  const part = readObject(value, path);
  const type = oneOf(['text', 'refusal', 'thinking', 'reasoning'])(part['type'], join(path, 'type'));
  if (type === 'thinking' || type === 'reasoning') return { type: 'reasoning', text: reasoningText(part) };
  return { type: 'text', text: readString(part[type], join(path, type)) };
}

function readToolCall(value: unknown, path: string): ToolCallPart {
  const call = readObject(value, path);
  optional(call['type'], join(path, 'type'), oneOf(['function']));
  const called = readCalled(call['function'], join(path, 'function'));
  return { type: 'tool-call', callId: readId(call['id'], join(path, 'id')), ...called };
}

/** The name and arguments of a call. */
function readCalled(value: unknown, path: string): Pick<ToolCallPart, 'name' | 'arguments'> {
  const called = readObject(value, path);
  return {
    name: readName(called['name'], join(path, 'name')),
    arguments: optional(called['arguments'], join(path, 'arguments'), readString) || '{}',
  };
}

function readTool(value: unknown, path: string): Tool {
  const tool = readObject(value, path);
  oneOf(['function'])(tool['type'], join(path, 'type'));
  return readFunction(tool['function'], join(path, 'function'));
}

function readFunction(value: unknown, path: string): Tool {
  const definition = readObject(value, path);
  return compact({
    name: readName(definition['name'], join(path, 'name')),
    description: optional(definition['description'], join(path, 'description'), readString),
    parameters: optional(definition['parameters'], join(path, 'parameters'), readObject),
    strict: optional(definition['strict'], join(path, 'strict'), readBoolean),
  });
}

function readToolChoice(value: unknown, path: string): ToolChoice {
  if (typeof value === 'string') return { type: oneOf(['auto', 'none', 'required'])(value, path) };
  const choice = readObject(value, path);
  oneOf(['function'])(choice['type'], join(path, 'type'));
  return readNamed(choice['function'], join(path, 'function'));
}

function readFunctionChoice(value: unknown, path: string): ToolChoice {
  if (typeof value === 'string') return { type: oneOf(['auto', 'none'])(value, path) };
  return readNamed(value, path);
}

function readNamed(value: unknown, path: string): ToolChoice {
  return { type: 'tool', name: readName(readObject(value, path)['name'], join(path, 'name')) };
}

function readOutputFormat(value: unknown, path: string): OutputFormat | undefined {
  const format = readObject(value, path);
  const type = oneOf(['text', 'json_object', 'json_schema'])(format['type'], join(path, 'type'));
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json-object' };
  const schemaPath = join(path, 'json_schema');
  const definition = readObject(format['json_schema'], schemaPath);
  return compact({
    type: 'json-schema',
    name: readName(definition['name'], join(schemaPath, 'name')),
    description: optional(definition['description'], join(schemaPath, 'description'), readString),
    schema: optional(definition['schema'], join(schemaPath, 'schema'), readObject),
    strict: optional(definition['strict'], join(schemaPath, 'strict'), readBoolean),
  } as const);
}
