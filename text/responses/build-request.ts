/** A canonical request as a responses body. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { AssistantPart, InputPart, OutputFormat, TextRequest, Tool, ToolChoice, Turn } from '../canonical.ts';
import { callIdReplacements, withPortableCallIds } from '../call-ids.ts';
import { DEFAULT_FILENAME, urlOf } from '../data-url.ts';
import { forwardedFields } from '../fields.ts';
import { compact } from '../read.ts';
import { IMAGE_NOTE, pairToolResults, transcriptOf } from '../turns.ts';
import type { ForwardedRequest, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';
import { itemTypeOf } from './input-items.ts';
import { READ_REQUEST } from './request-shape.ts';
import { forwardedTools, withForwardedTools } from './tools.ts';

const PATH = '/responses';

/** Upstreams of this format refuse a smaller budget, which clients of other formats send to try out a model. */
export const MINIMUM_OUTPUT_TOKENS = 16;

/** Signatures of calls have no effect here. The gateway cuts at stop sequences. */
export function buildRequest(request: TextRequest, options: UpstreamOptions): UpstreamRequest {
  const { sampling, tools, toolChoice } = request;
  const textConfig = renderTextConfig(request);
  const body = compact({
    model: options.model,
    input: pairToolResults(withPortableCallIds(request.turns)).flatMap(renderTurn),
    stream: request.stream,
    store: false,
    max_output_tokens: outputBound(request),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    tools: tools.length === 0 ? undefined : tools.map(renderTool),
    tool_choice: toolChoice === undefined || tools.length === 0 ? undefined : renderToolChoice(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : request.parallelToolCalls,
    reasoning: renderReasoning(request, options),
    text: Object.keys(textConfig).length === 0 ? undefined : textConfig,
    user: request.userId,
    prompt_cache_key: request.promptCacheKey,
  });
  return { path: PATH, headers: headersOf(options), body };
}

/**
 * The client's body with the upstream's model name, without anything that would make the upstream store or look up
 * state, or serve the request at another price.
 */
export function forwardRequest(body: JsonObject, request: TextRequest, options: UpstreamOptions): ForwardedRequest {
  const callIds = callIdReplacements(request.turns);
  const input = Array.isArray(body['input'])
    ? body['input'].filter(isSelfContained).map((item) => forwardedItem(item, callIds))
    : body['input'];
  const { previous_response_id: _before, ...fields } = forwardedFields(
    body,
    READ_REQUEST[options.compatibility ?? 'specification'],
  );
  return {
    path: PATH,
    headers: headersOf(options),
    body: {
      ...fields,
      ...(Array.isArray(body['tools']) && {
        tools: forwardedTools(body['tools'], options.maxWebSearches !== undefined),
      }),
      ...forwardedReasoning(body, request, options),
      ...compact({ max_output_tokens: outputBound(request), max_tool_calls: options.maxWebSearches }),
      model: options.model,
      input,
      store: false,
    },
  };
}

/** Asks for a summary, without which upstreams show no reasoning; models that do not reason refuse it. */
function renderReasoning(
  { reasoningEffort: effort }: TextRequest,
  { reasons }: UpstreamOptions,
): JsonObject | undefined {
  const summary = reasons === true && effort !== 'none' ? 'auto' : undefined;
  return effort === undefined && summary === undefined ? undefined : compact({ effort, summary });
}

/** The client's settings with the effort that the model has; none for a model that does not reason. */
function forwardedReasoning(
  { reasoning }: JsonObject,
  { reasoningEffort: effort }: TextRequest,
  { compatibility, reasons }: UpstreamOptions,
): JsonObject {
  if (compatibility !== 'full' || !isObject(reasoning)) return {};
  return { reasoning: reasons === true ? compact({ ...reasoning, effort }) : undefined };
}

function outputBound({ sampling: { maxOutputTokens } }: TextRequest): number | undefined {
  return maxOutputTokens === undefined ? undefined : Math.max(maxOutputTokens, MINIMUM_OUTPUT_TOKENS);
}

/** Whether an input item is complete in itself, which references and reasoning without its encrypted form are not. */
function isSelfContained(item: unknown): boolean {
  if (!isObject(item)) return true;
  const type = itemTypeOf(item);
  return type === 'reasoning' ? typeof item['encrypted_content'] === 'string' : type !== 'item_reference';
}

/**
 * The item without its id: no upstream has stored the answer it is from, and looking it up in vain would fail the
 * request. The id of a call stays, or is replaced by one that the upstream accepts.
 */
function forwardedItem(item: unknown, callIds: ReadonlyMap<string, string>): unknown {
  if (!isObject(item)) return item;
  const { id: _id, ...fields } = withForwardedTools(item);
  const callId = typeof item['call_id'] === 'string' ? callIds.get(item['call_id']) : undefined;
  return callId === undefined ? fields : { ...fields, call_id: callId };
}

function headersOf(options: UpstreamOptions): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${options.apiKey}` };
}

function renderTurn(turn: Turn): JsonObject[] {
  switch (turn.role) {
    case 'system':
    case 'user':
      return [{ role: turn.role, content: renderContent(turn.parts) }];
    case 'assistant':
      return turn.parts.flatMap(renderAnswerPart);
    default:
      return turn.parts.map(({ callId, content }) => ({
        type: 'function_call_output',
        call_id: callId,
        output: renderContent(content),
      }));
  }
}

/** A single text part becomes a plain string, which every compatible upstream understands. */
function renderContent(parts: readonly InputPart[]): unknown {
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && first.type === 'text' ? first.text : parts.map(renderInputPart);
}

function renderInputPart(part: InputPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  if (part.type === 'image') {
    return compact({ type: 'input_image', image_url: urlOf(part.source), detail: part.detail });
  }
  if (part.source.kind === 'url') return { type: 'input_file', file_url: part.source.url };
  return { type: 'input_file', file_data: urlOf(part.source), filename: part.filename ?? DEFAULT_FILENAME };
}

/** Reasoning is sent back only with the model's signature: without it, it would not be accepted. */
function renderAnswerPart(part: AssistantPart): JsonObject[] {
  if (part.type === 'audio') return renderAnswerPart(transcriptOf(part));
  if (part.type === 'image') return renderAnswerPart(IMAGE_NOTE);
  if (part.type === 'text') return part.text === '' ? [] : [{ role: 'assistant', content: part.text }];
  if (part.type === 'tool-call') {
    return [{ type: 'function_call', call_id: part.callId, name: part.name, arguments: part.arguments }];
  }
  if (part.signature === undefined || part.signature === '') return [];
  const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }];
  return [{ type: 'reasoning', summary, encrypted_content: part.signature }];
}

/** `strict` is always set, because its default differs from that of the other formats. */
export function renderTool(tool: Tool): JsonObject {
  const { name, description, parameters, strict } = tool;
  return compact({
    type: 'function',
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict ?? false,
  });
}

export function renderToolChoice(choice: ToolChoice): unknown {
  return choice.type === 'tool' ? { type: 'function', name: choice.name } : choice.type;
}

/** The request's settings for the answer's text; empty when there are none. */
export function renderTextConfig({ outputFormat, verbosity }: TextRequest): JsonObject {
  return compact({ format: outputFormat === undefined ? undefined : renderOutputFormat(outputFormat), verbosity });
}

function renderOutputFormat(format: OutputFormat): JsonObject {
  if (format.type === 'json-object') return { type: 'json_object' };
  const { name, description, schema, strict } = format;
  return compact({ type: 'json_schema', name, description, schema: schema ?? {}, strict });
}
