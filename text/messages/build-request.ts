/** A canonical request as a messages body. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, objectOf } from '../../domain/json.ts';
import { alternatingMessages } from '../alternating-messages.ts';
import type {
  AssistantPart,
  CacheBreakpoint,
  FilePart,
  ImagePart,
  InputPart,
  OutputFormat,
  Sampling,
  Setting,
  TextRequest,
  Tool,
  ToolResultPart,
  Turn,
} from '../canonical.ts';
import { acceptedRequest, claudeReasoning, forwardedReasoning, refusedVariety, varietyOf } from '../claude.ts';
import { textOfFile } from '../data-url.ts';
import { forwardedFields } from '../fields.ts';
import { mapItems } from '../map-json.ts';
import { compact } from '../read.ts';
import {
  IMAGE_NOTE,
  argumentsOf,
  checkArguments,
  hasCacheMarks,
  hoistSystem,
  hoistedParts,
  transcriptOf,
} from '../turns.ts';
import type { ForwardedRequest, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';
import { withoutBetaFields } from './betas.ts';
import { isWebSearchTool, READ_REQUEST } from './request-shape.ts';
import { answerSchemaOf } from './schema.ts';

const PATH = '/messages';
export const VERSION = '2023-06-01';

/** The format requires a limit. Where nothing is held, this is it; every model in the catalogue supports it. */
const DEFAULT_MAXIMUM_TOKENS = 64_000;

const TOOL_CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const;

/** Refuses fields that would change the answer's shape. */
export function buildRequest(wanted: TextRequest, options: UpstreamOptions): UpstreamRequest {
  const { request, omitted: refusedChoice } = acceptedRequest(wanted, options);
  const { sampling } = request;
  checkArguments(request.turns);
  const { turns } = hoistSystem(request.turns);
  const marks = cacheMarksOf(request, options);
  const maxTokens = sampling.maxOutputTokens ?? DEFAULT_MAXIMUM_TOKENS;
  const { thinking, effort, omitted } = claudeReasoning(request, options, maxTokens);
  const outputConfig = compact({ effort, format: renderOutputFormat(request.outputFormat) });
  const refused = refusedVariety(sampling, thinking, options);
  const body = compact({
    model: options.model,
    max_tokens: maxTokens,
    system: renderSystem(request, marks),
    messages: marks === 'auto' ? markLast(renderMessages(turns)) : renderMessages(turns),
    cache_control: request.cacheBreakpoint && cacheControlOf(request.cacheBreakpoint),
    stream: request.stream,
    ...renderVariety(sampling, refused),
    stop_sequences: sampling.stopSequences,
    tools: request.tools.length === 0 ? undefined : renderTools(request.tools, marks),
    tool_choice: renderToolChoice(request),
    thinking,
    output_config: Object.keys(outputConfig).length === 0 ? undefined : outputConfig,
    metadata: request.userId === undefined ? undefined : { user_id: request.userId },
  });
  return {
    path: PATH,
    headers: headersOf(options, request),
    body: withAllowedMarks(request.betas === undefined ? withoutBetaFields(body) : body),
    omitted: [...omitted, ...refused, ...refusedChoice],
  };
}

/**
 * The client's body with the upstream's model name, without the fields that are to have no effect: upstreams would
 * refuse some of them, and act on others.
 */
export function forwardRequest(body: JsonObject, request: TextRequest, options: UpstreamOptions): ForwardedRequest {
  const { betas, sampling } = request;
  const { maxWebSearches } = options;
  const {
    tool_choice,
    thinking: sentThinking,
    output_config: outputConfig,
    output_format: outputFormat,
    ...fields
  } = forwardedFields(
    betas === undefined ? withoutBetaFields(body, maxWebSearches !== undefined) : body,
    READ_REQUEST[options.compatibility ?? 'specification'],
  );
  const refused = refusedVariety(sampling, undefined, options);
  const { thinking, effort, omitted } = forwardedReasoning(
    { thinking: options.reasons === true ? sentThinking : undefined, effort: objectOf(outputConfig)['effort'] },
    request,
    options,
    sampling.maxOutputTokens ?? DEFAULT_MAXIMUM_TOKENS,
  );
  const bounded = {
    ...(request.webSearch === undefined ? fields : withWebSearch(fields, maxWebSearches)),
    tool_choice: request.tools.length === 0 && maxWebSearches === undefined ? undefined : tool_choice,
    thinking,
    output_config: forwardedOutputConfig(outputConfig, outputFormat, effort),
    model: options.model,
    max_tokens: sampling.maxOutputTokens,
    ...renderVariety(sampling, refused),
  };
  const sent = compact(cacheMarksOf(request, options) === 'auto' ? withMarks(bounded) : bounded);
  const isFull = options.compatibility === 'full';
  return {
    path: PATH,
    headers: headersOf(options, request),
    body: isFull ? sent : withUsualCache(sent),
    omitted: [...omitted, ...refused],
  };
}

/** The body with the bound of searches, or without the tool where the upstream is to run none. */
function withWebSearch(body: JsonObject, maxWebSearches: number | undefined): JsonObject {
  const bounded = mapItems(body, 'tools', (tool) => {
    if (!isWebSearchTool(tool)) return tool;
    return maxWebSearches === undefined ? null : { ...tool, max_uses: maxWebSearches };
  });
  const isEmpty = Array.isArray(bounded['tools']) && bounded['tools'].length === 0;
  return isEmpty ? { ...bounded, tools: undefined } : bounded;
}

/** The client's settings under their current name, with an effort that the model has. */
function forwardedOutputConfig(config: unknown, format: unknown, effort: string | undefined): JsonObject | undefined {
  const sent = compact({ ...(isObject(format) && { format }), ...objectOf(config), effort });
  return Object.keys(sent).length === 0 ? undefined : sent;
}

/** A client's body with the marks of {@link buildRequest}. */
function withMarks(body: JsonObject): JsonObject {
  const messages = Array.isArray(body['messages']) ? body['messages'].filter(isObject) : [];
  return { ...body, system: markEnd(body['system']), tools: markEnd(body['tools']), messages: markLast(messages) };
}

/** The fields that contain blocks, in a request and in other blocks. */
const BLOCK_FIELDS = ['system', 'tools', 'messages', 'content'];

/** With the compatibility of the specification, caches have the usual lifetime: contract 4.8.3. */
function withUsualCache(holder: JsonObject): JsonObject {
  const blocks = BLOCK_FIELDS.flatMap((field) => {
    const value = holder[field];
    return Array.isArray(value)
      ? [[field, value.map((block: unknown) => (isObject(block) ? withUsualCache(block) : block))]]
      : [];
  });
  const { cache_control: cache } = holder;
  const usual = isObject(cache) ? { cache_control: compact({ ...cache, ttl: undefined }) } : {};
  return { ...holder, ...Object.fromEntries(blocks), ...usual };
}

/** Vendors refuse more: https://platform.claude.com/docs/en/build-with-claude/prompt-caching */
const MAX_MARKS = 4;

/** The body with its last cache marks, as many as vendors accept. A mark of the whole request counts as one. */
function withAllowedMarks(body: JsonObject): JsonObject {
  let count = 0;
  const counted = (block: JsonObject): JsonObject => {
    if (isObject(block['cache_control'])) count += 1;
    return block;
  };
  mapBlocks(body, counted);
  let tooMany = count + (isObject(body['cache_control']) ? 1 : 0) - MAX_MARKS;
  if (tooMany <= 0) return body;
  return mapBlocks(body, (block) => {
    if (tooMany <= 0 || !isObject(block['cache_control'])) return block;
    tooMany -= 1;
    return compact({ ...block, cache_control: undefined });
  });
}

/** Maps the blocks of a body in the order of the prompt. A block comes after those inside it. */
function mapBlocks(body: JsonObject, map: (block: JsonObject) => JsonObject): JsonObject {
  const inside = (block: JsonObject): JsonObject => map(mapItems(block, 'content', inside));
  const beforeMessages = ['tools', 'system'].reduce((mapped, field) => mapItems(mapped, field, map), body);
  return mapItems(beforeMessages, 'messages', (message) => mapItems(message, 'content', inside));
}

function headersOf({ apiKey }: UpstreamOptions, { betas }: TextRequest): Readonly<Record<string, string>> {
  return {
    'x-api-key': apiKey,
    'anthropic-version': VERSION,
    ...(betas && { 'anthropic-beta': betas.join(',') }),
  };
}

function renderMessages(turns: readonly Turn[]): JsonObject[] {
  const messages = alternatingMessages(turns, renderTurn);
  return messages.map(({ role, content }) => ({ role, content: textOrBlocks(content) }));
}

function renderTurn(turn: Turn): JsonObject[] {
  switch (turn.role) {
    case 'assistant':
      return turn.parts.flatMap(renderAnswerPart);
    case 'tool':
      return turn.parts.map(renderToolResult);
    default:
      return turn.parts.flatMap(renderInputPart);
  }
}

function textOrBlocks(blocks: readonly JsonObject[]): unknown {
  const [first] = blocks;
  if (first === undefined) return '';
  const isPlain = blocks.length === 1 && first['type'] === 'text' && first['cache_control'] === undefined;
  return isPlain ? first['text'] : blocks;
}

/** Who sets the cache marks of a request: the client, Genway or nobody. */
type CacheMarks = 'own' | 'auto' | 'none';

function cacheControlOf(breakpoint: CacheBreakpoint): JsonObject {
  return { type: 'ephemeral', ...breakpoint };
}

const CACHE_CONTROL = cacheControlOf({});

function cacheMarksOf(request: TextRequest, { autoCache }: UpstreamOptions): CacheMarks {
  if (hasCacheMarks(request)) return 'own';
  return autoCache === true ? 'auto' : 'none';
}

function marked(
  block: JsonObject,
  { cacheBreakpoint }: { readonly cacheBreakpoint?: CacheBreakpoint | undefined },
): JsonObject {
  return cacheBreakpoint === undefined ? block : { ...block, cache_control: cacheControlOf(cacheBreakpoint) };
}

/** The system text: one string, unless the cache has marks in it. */
function renderSystem(request: TextRequest, marks: CacheMarks): unknown {
  const parts = hoistedParts(request.turns);
  const texts = parts.map(({ text }) => text).filter((text) => !isBlank(text));
  const isMarked = parts.some(({ cacheBreakpoint }) => cacheBreakpoint !== undefined);
  if (texts.length === 0) return undefined;
  if (isMarked) {
    return parts.flatMap((part) => renderText(part.text).map((block) => marked(block, part)));
  }
  const system = texts.join('\n\n');
  return marks === 'auto' ? markEnd(system) : system;
}

function renderTools(tools: readonly Tool[], marks: CacheMarks): unknown {
  const rendered = tools.map((tool) => marked(renderTool(tool), tool));
  return marks === 'auto' ? markEnd(rendered) : rendered;
}

/** Returns a text or blocks as blocks, with a mark on the last block; returns any other value unchanged. */
function markEnd(content: unknown): unknown {
  const blocks: unknown =
    typeof content === 'string' && !isBlank(content) ? [{ type: 'text', text: content }] : content;
  const last: unknown = Array.isArray(blocks) ? blocks.at(-1) : undefined;
  if (!Array.isArray(blocks) || !isObject(last)) return content;
  return [...blocks.slice(0, -1), { ...last, cache_control: CACHE_CONTROL }];
}

/** Messages whose last block is marked, so that the next turn finds all of them in the cache. */
function markLast(messages: readonly JsonObject[]): JsonObject[] {
  return messages.map((message, index) => {
    return index < messages.length - 1 ? message : { ...message, content: markEnd(message['content']) };
  });
}

/** Upstreams of this format refuse text and stop sequences that consist of white space. */
function isBlank(text: string): boolean {
  return text.trim() === '';
}

export function canSendStopSequence(sequence: string): boolean {
  return !isBlank(sequence);
}

function renderText(text: string): JsonObject[] {
  return isBlank(text) ? [] : [{ type: 'text', text }];
}

function renderInputPart(part: InputPart): JsonObject[] {
  if (part.type === 'text') {
    const { toolReference: name, text } = part;
    const blocks = name === undefined ? renderText(text) : [{ type: 'tool_reference', tool_name: name }];
    return blocks.map((block) => marked(block, part));
  }
  return [marked(part.type === 'image' ? renderImage(part) : renderFile(part), part)];
}

function renderImage({ source }: ImagePart | FilePart): JsonObject {
  return { type: 'image', source: renderSource(source) };
}

function renderSource(source: ImagePart['source']): JsonObject {
  if (source.kind === 'url') return { type: 'url', url: source.url };
  return { type: 'base64', media_type: source.mediaType, data: source.data };
}

function renderFile(part: FilePart): JsonObject {
  const mediaType = part.source.mediaType ?? 'application/pdf';
  if (mediaType.startsWith('image/')) return renderImage(part);
  const text = textOfFile(part.source);
  if (text === null && mediaType !== 'application/pdf') {
    throw badRequest(`the model does not accept files of the type ${mediaType}: send text, images or PDF`);
  }
  const source = text === null ? renderSource(part.source) : { type: 'text', media_type: 'text/plain', data: text };
  return compact({ type: 'document', source, title: part.filename });
}

function renderAnswerPart(part: AssistantPart): JsonObject[] {
  if (part.type === 'audio') return renderAnswerPart(transcriptOf(part));
  if (part.type === 'image') return renderAnswerPart(IMAGE_NOTE);
  if (part.type === 'text') return renderText(part.text).map((block) => marked(block, part));
  if (part.type === 'tool-call') {
    const call = { type: 'tool_use', id: part.callId, name: part.name, input: argumentsOf(part) };
    return [marked(call, part)];
  }
  // Upstreams check the signature, so the request omits reasoning without one.
  const { text, signature, redacted } = part;
  if (signature === undefined || signature === '') return [];
  if (redacted === true) return [{ type: 'redacted_thinking', data: signature }];
  return [{ type: 'thinking', thinking: text, signature }];
}

function renderToolResult(result: ToolResultPart): JsonObject {
  const content = textOrBlocks(result.content.flatMap(renderInputPart));
  const block = compact({ type: 'tool_result', tool_use_id: result.callId, content, is_error: result.isError });
  return marked(block, result);
}

function renderTool({ name, description, parameters, strict, clientType, betaFields }: Tool): JsonObject {
  if (clientType !== undefined) return { type: clientType, name, ...betaFields };
  const schema = { type: 'object', ...parameters };
  const inputSchema = strict === true ? answerSchemaOf(schema) : schema;
  return compact({ name, description, input_schema: inputSchema, strict, ...betaFields });
}

function renderToolChoice({ tools, toolChoice, parallelToolCalls }: TextRequest): JsonObject | undefined {
  if (tools.length === 0) return undefined;
  if (toolChoice === undefined && parallelToolCalls !== false) return undefined;
  const choice = toolChoice ?? { type: 'auto' };
  const isSerial = parallelToolCalls === false && choice.type !== 'none';
  return compact({
    type: choice.type === 'tool' ? 'tool' : TOOL_CHOICES[choice.type],
    name: choice.type === 'tool' ? choice.name : undefined,
    disable_parallel_tool_use: isSerial ? true : undefined,
  });
}

function renderVariety(sampling: Sampling, refused: readonly Setting[]): JsonObject {
  const { temperature, topP: top_p, topK: top_k } = varietyOf(sampling, refused);
  return { temperature, top_p, top_k };
}

function renderOutputFormat(format: OutputFormat | undefined): JsonObject | undefined {
  if (format?.type !== 'json-schema' || format.schema === undefined) return undefined;
  return { type: 'json_schema', schema: answerSchemaOf(format.schema) };
}
