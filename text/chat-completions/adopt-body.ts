/** Bodies of other formats that agents send to the address of chat completions: contract 4.8.1. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import { urlOf } from '../data-url.ts';
import { mapItems } from '../map-json.ts';
import { compact } from '../read.ts';
import { withKnownEffort } from '../reasoning.ts';
import { adoptBody as adoptOwnBody } from '../responses/adopt-body.ts';
import { parseRequest as parseResponsesRequest } from '../responses/parse-request.ts';
import { assertNoVendorTools } from '../responses/tools.ts';
import { argumentsTextOf } from '../turns.ts';
import { buildRequest } from './build-request.ts';

/** The choices of other formats by this format's name. */
const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ['any', 'required'],
  ['auto', 'auto'],
  ['none', 'none'],
]);
const TOOL_TYPES: readonly unknown[] = ['function', 'custom', undefined];

/**
 * The body as one of chat completions: Cursor sends a whole body of responses, or tools and parts of content as in
 * messages, other agents tools or parts as in responses. What is none of these stays as it is.
 *
 * @throws ServiceError `bad_request` if a body of responses is malformed, or has no meaning in chat completions
 */
export function adoptBody(body: JsonObject): JsonObject {
  const { input, messages, tool_choice: choice } = body;
  if (input !== undefined && messages === undefined) return adoptResponsesBody(body);
  const bounded = withKnownEffort(withoutNoBounds(body), 'reasoning_effort');
  const withParts = mapItems(bounded, 'messages', adoptMessage);
  const withTools = mapItems(withParts, 'tools', nest);
  const adopted = adoptChoice(choice);
  return adopted === choice ? withTools : { ...withTools, tool_choice: adopted };
}

/** Clients of vLLM and llama.cpp send -1 for no bound: https://docs.vllm.ai/en/latest/api/vllm/sampling_params.html */
const BOUNDS = ['max_tokens', 'max_completion_tokens', 'top_k'];

function withoutNoBounds(body: JsonObject): JsonObject {
  const unset = BOUNDS.filter((field) => body[field] === -1);
  return unset.length === 0
    ? body
    : Object.fromEntries(Object.entries(body).filter(([field]) => !unset.includes(field)));
}

function adoptResponsesBody(body: JsonObject): JsonObject {
  const request = parseResponsesRequest(adoptOwnBody(body), { compatibility: 'full' });
  if (request.echo?.previousResponseId !== undefined) {
    throw badRequest('"previous_response_id" works at POST /v1/responses; send the whole conversation here');
  }
  assertNoVendorTools(request);
  const { model, promptCacheKey, webSearch } = request;
  return {
    ...buildRequest(request, { model, apiKey: '' }).body,
    // Settings that requests to upstreams do not have.
    ...compact({ prompt_cache_key: promptCacheKey, web_search_options: webSearch && {} }),
  };
}

/** Puts calls and results of messages where chat completions has them: results are messages of their own. */
function adoptMessage(message: JsonObject): JsonObject | readonly JsonObject[] {
  const adopted = mapItems(message, 'content', adoptPart);
  const { role, content, tool_calls: calls } = adopted;
  const blockType = role === 'assistant' ? 'tool_use' : 'tool_result';
  const blocks = listOf(content)
    .filter(isObject)
    .filter(({ type }) => type === blockType);
  if (blocks.length === 0 || (role !== 'assistant' && role !== 'user')) return adopted;
  const others = listOf(content).filter((part) => !isObject(part) || part['type'] !== blockType);
  const rest = { ...adopted, content: others.length === 0 ? null : others };
  if (role === 'assistant') return { ...rest, tool_calls: [...listOf(calls), ...blocks.map(callOf)] };
  return [...blocks.map(resultOf), ...(others.length === 0 ? [] : [rest])];
}

function callOf({ id, name, input }: JsonObject): JsonObject {
  return { id, type: 'function', function: { name, arguments: argumentsTextOf(input) || '{}' } };
}

function resultOf(block: JsonObject): JsonObject {
  const { tool_use_id, content = '' } = mapItems(block, 'content', adoptPart);
  return { role: 'tool', tool_call_id: tool_use_id, content };
}

function adoptPart(part: JsonObject): JsonObject {
  const { type, text, image_url: url, detail } = part;
  if (type === 'image') return adoptImage(part);
  if (type === 'input_text' || type === 'output_text') return { type: 'text', text };
  const isPicture = type === 'input_image' || type === 'image_url';
  return isPicture && typeof url === 'string' ? { type: 'image_url', image_url: compact({ url, detail }) } : part;
}

function adoptImage(part: JsonObject): JsonObject {
  const { source, type: _type, ...rest } = part;
  const { type, url, media_type: mediaType, data } = objectOf(source);
  const bytes = typeof mediaType === 'string' && typeof data === 'string' ? { mediaType, data } : null;
  if (type === 'url') return { ...rest, type: 'image_url', image_url: { url } };
  if (type !== 'base64' || bytes === null) return part;
  return { ...rest, type: 'image_url', image_url: { url: urlOf({ kind: 'base64', ...bytes }) } };
}

/** Puts the definition of a tool, or the name of a chosen one, into an object named like the type, where it is not. */
function nest(tool: JsonObject): JsonObject {
  const { type, name, description, parameters, input_schema: schema, strict, format, ...rest } = tool;
  const isNested = tool['function'] !== undefined || tool['custom'] !== undefined;
  if (isNested || typeof name !== 'string' || !TOOL_TYPES.includes(type)) return tool;
  const definition = compact({ name, description, parameters: parameters ?? schema, strict, format });
  // In messages, `custom` is the type of all tools that the client runs.
  const isFreeText = type === 'custom' && schema === undefined;
  return { ...rest, ...(isFreeText ? { type, custom: definition } : { type: 'function', function: definition }) };
}

function adoptChoice(choice: unknown): unknown {
  if (!isObject(choice)) return CHOICES.get(choice) ?? choice;
  const { type, name } = choice;
  if (type === 'tool') return nest({ type: 'function', name });
  return CHOICES.get(type) ?? nest(choice);
}
