/** Bodies of other formats that agents send to the address of chat completions: contract 4.8.1. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { compact } from '../read.ts';
import { parseRequest as parseResponsesRequest } from '../responses/parse-request.ts';
import { buildRequest } from './build-request.ts';

/** The choices of other formats by this format's name. */
const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['any', 'required'],
  ['auto', 'auto'],
  ['none', 'none'],
]);
const TOOL_TYPES: readonly unknown[] = ['function', 'custom', undefined];

/**
 * The body as one of chat completions: Cursor sends a whole body of responses, other agents tools as in responses or
 * messages, or parts of content as in responses. What is none of these stays as it is.
 *
 * @throws ServiceError `bad_request` if a body of responses is malformed, or has no meaning in chat completions
 */
export function adoptBody(body: JsonObject): JsonObject {
  const { input, messages, tools, tool_choice: choice } = body;
  if (input !== undefined && messages === undefined) return adoptResponsesBody(body);
  const adoptedTools = adoptEach(tools, nest);
  const adoptedChoice = adoptChoice(choice);
  const adoptedMessages = adoptEach(messages, adoptMessage);
  if (adoptedMessages === messages && adoptedTools === tools && adoptedChoice === choice) return body;
  return { ...body, ...compact({ messages: adoptedMessages, tools: adoptedTools, tool_choice: adoptedChoice }) };
}

function adoptResponsesBody(body: JsonObject): JsonObject {
  const request = parseResponsesRequest(body, { compatibility: 'full' });
  if (request.echo?.previousResponseId !== undefined) {
    throw badRequest('"previous_response_id" works at POST /v1/responses; send the whole conversation here');
  }
  const { model, promptCacheKey, webSearch } = request;
  return {
    ...buildRequest(request, { model, apiKey: '' }).body,
    // Settings that requests to upstreams do not have.
    ...compact({ prompt_cache_key: promptCacheKey, web_search_options: webSearch && {} }),
  };
}

/** Whether the definition of a tool, or the name of a chosen one, is not in an object named like the type. */
function isFlat(tool: unknown): tool is JsonObject {
  if (!isObject(tool) || typeof tool['name'] !== 'string' || !TOOL_TYPES.includes(tool['type'])) return false;
  return tool['function'] === undefined && tool['custom'] === undefined;
}

function nest(tool: unknown): unknown {
  if (!isFlat(tool)) return tool;
  const { type, name, description, parameters, input_schema: schema, strict, format, ...rest } = tool;
  const definition = compact({ name, description, parameters: parameters ?? schema, strict, format });
  // In messages, `custom` is the type of all tools that the client runs.
  const isFreeText = type === 'custom' && schema === undefined;
  return { ...rest, ...(isFreeText ? { type, custom: definition } : { type: 'function', function: definition }) };
}

/** @returns the same list, or what is no list, if no item changes */
function adoptEach(list: unknown, adopt: (item: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list;
  const adopted = list.map(adopt);
  return adopted.every((item, index) => item === list[index]) ? list : adopted;
}

function adoptMessage(message: unknown): unknown {
  if (!isObject(message)) return message;
  const { content } = message;
  const adopted = adoptEach(content, adoptPart);
  return adopted === content ? message : { ...message, content: adopted };
}

function adoptPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  const { type, text, image_url: url, detail } = part;
  if (type === 'input_text' || type === 'output_text') return { type: 'text', text };
  const isPicture = type === 'input_image' || type === 'image_url';
  return isPicture && typeof url === 'string' ? { type: 'image_url', image_url: compact({ url, detail }) } : part;
}

function adoptChoice(choice: unknown): unknown {
  if (!isObject(choice)) return CHOICES.get(choice) ?? choice;
  const { type, name } = choice;
  if (type === 'tool') return nest({ type: 'function', name });
  return CHOICES.get(type) ?? nest(choice);
}
