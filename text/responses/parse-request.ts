/** A responses body as a canonical request: contract 4.8.2. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import {
  REASONING_EFFORTS,
  type OutputFormat,
  type TextRequest,
  type Tool,
  type ToolChoice,
  type Turn,
} from '../canonical.ts';
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
  readString,
} from '../read.ts';
import { parseInput } from './parse-input.ts';
import { MAXIMUM_OUTPUT_TOKENS, REQUEST_FIELDS } from './types.ts';

export function parseRequest(body: unknown): TextRequest {
  const fields = readObject(body, '');
  checkFields(fields, '', REQUEST_FIELDS, 'refuse');
  if (optional(fields['background'], 'background', readBoolean) === true) {
    throw badRequest('"background" is not supported: answers are not stored; wait for the answer or stream it');
  }
  const reasoning = optional(fields['reasoning'], 'reasoning', readObject);
  const text = optional(fields['text'], 'text', readObject);
  return compact({
    model: readName(fields['model'], 'model'),
    stream: optional(fields['stream'], 'stream', readBoolean) ?? false,
    turns: [...readInstructions(fields['instructions']), ...parseInput(fields['input'])],
    tools: optional(fields['tools'], 'tools', (value, path) => readArray(value, path, readTool)) ?? [],
    toolChoice: optional(fields['tool_choice'], 'tool_choice', readToolChoice),
    parallelToolCalls: optional(fields['parallel_tool_calls'], 'parallel_tool_calls', readBoolean),
    sampling: readSampling(fields),
    reasoningEffort: optional(reasoning?.['effort'], 'reasoning.effort', oneOf(REASONING_EFFORTS)),
    outputFormat: optional(text?.['format'], 'text.format', readOutputFormat),
    verbosity: optional(text?.['verbosity'], 'text.verbosity', oneOf(['low', 'medium', 'high'])),
    userId: optional(fields['user'], 'user', readString),
    echo: readEcho(fields),
  });
}

function readEcho(fields: JsonObject): TextRequest['echo'] {
  const instructions = optional(fields['instructions'], 'instructions', readString);
  const metadata = optional(fields['metadata'], 'metadata', readObject);
  return instructions === undefined && metadata === undefined ? undefined : compact({ instructions, metadata });
}

function readInstructions(value: unknown): Turn[] {
  const text = optional(value, 'instructions', readString) ?? '';
  return text === '' ? [] : [{ role: 'system', parts: [{ type: 'text', text }] }];
}

function readSampling(fields: JsonObject): TextRequest['sampling'] {
  const tokens = integerBetween(1, MAXIMUM_OUTPUT_TOKENS);
  return compact({
    maxOutputTokens: optional(fields['max_output_tokens'], 'max_output_tokens', tokens),
    temperature: optional(fields['temperature'], 'temperature', numberBetween(0, 2)),
    topP: optional(fields['top_p'], 'top_p', numberBetween(0, 1)),
  });
}

function readTool(value: unknown, path: string): Tool {
  const tool = readObject(value, path);
  const type = readString(tool['type'], join(path, 'type'));
  if (type !== 'function') {
    throw badRequest(`"${path}": the tool "${type}" is not supported; send tools of the type "function"`);
  }
  return compact({
    name: readName(tool['name'], join(path, 'name')),
    description: optional(tool['description'], join(path, 'description'), readString),
    parameters: optional(tool['parameters'], join(path, 'parameters'), readObject),
    strict: optional(tool['strict'], join(path, 'strict'), readBoolean),
  });
}

function readToolChoice(value: unknown, path: string): ToolChoice {
  if (typeof value === 'string') return { type: oneOf(['auto', 'none', 'required'])(value, path) };
  const choice = readObject(value, path);
  const type = readString(choice['type'], join(path, 'type'));
  if (type !== 'function') {
    throw badRequest(`"${path}": the choice "${type}" is not supported; choose a tool of the type "function"`);
  }
  return { type: 'tool', name: readName(choice['name'], join(path, 'name')) };
}

function readOutputFormat(value: unknown, path: string): OutputFormat | undefined {
  const format = readObject(value, path);
  const type = oneOf(['text', 'json_object', 'json_schema'])(format['type'], join(path, 'type'));
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json-object' };
  return compact({
    type: 'json-schema',
    name: readName(format['name'], join(path, 'name')),
    description: optional(format['description'], join(path, 'description'), readString),
    schema: optional(format['schema'], join(path, 'schema'), readObject),
    strict: optional(format['strict'], join(path, 'strict'), readBoolean),
  } as const);
}
