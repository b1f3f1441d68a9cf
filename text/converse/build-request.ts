/** A canonical request as a Converse body: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { alternatingMessages, type Message } from '../alternating-messages.ts';
import type {
  AssistantPart,
  CacheBreakpoint,
  FilePart,
  ImagePart,
  InputPart,
  OutputFormat,
  Setting,
  TextRequest,
  Tool,
  ToolResultPart,
  Turn,
} from '../canonical.ts';
import { acceptedRequest, claudeReasoning, refusedVariety, varietyOf } from '../claude.ts';
import { textOfFile } from '../data-url.ts';
import { compact } from '../read.ts';
import { THREE_EFFORTS } from '../reasoning.ts';
import {
  IMAGE_NOTE,
  argumentsOf,
  checkArguments,
  hasCacheMarks,
  hoistSystem,
  hoistedParts,
  transcriptOf,
} from '../turns.ts';
import type { UpstreamOptions, UpstreamRequest } from '../wire-format.ts';

export function buildRequest(wanted: TextRequest, options: UpstreamOptions): UpstreamRequest {
  const { request, omitted: refusedChoice } = acceptedRequest(wanted, options);
  checkArguments(request.turns);
  const { turns } = hoistSystem(request.turns);
  const { sampling, outputFormat } = request;
  const isMarked = options.autoCache === true && !hasCacheMarks(request);
  const { fields, omitted } = renderReasoning(request, options);
  const { temperature, topP } = varietyOf(sampling, omitted);
  const inferenceConfig = compact({
    maxTokens: sampling.maxOutputTokens,
    temperature,
    topP,
    stopSequences: sampling.stopSequences,
  });
  const messages = renderMessages(turns);
  const body = compact({
    messages: isMarked || request.cacheBreakpoint ? markLast(messages, request.cacheBreakpoint ?? {}) : messages,
    system: renderSystem(request, isMarked),
    inferenceConfig: Object.keys(inferenceConfig).length === 0 ? undefined : inferenceConfig,
    toolConfig: renderTools(request, isMarked),
    outputConfig: outputFormat && renderOutputFormat(outputFormat),
    additionalModelRequestFields: fields,
  });
  const method = request.stream ? 'converse-stream' : 'converse';
  return {
    // Inference profiles may be ARNs, which have slashes.
    path: `/model/${encodeURIComponent(options.model)}/${method}`,
    headers: { authorization: `Bearer ${options.apiKey}` },
    body,
    omitted: [...omitted, ...refusedChoice],
  };
}

/** The user's message before a conversation that starts with an answer, such as a greeting: Bedrock refuses such a conversation. */
const SILENT_USER = '…';

/** Messages with alternating roles, from the user's first. */
function renderMessages(turns: readonly Turn[]): readonly Message[] {
  const names = new DocumentNames();
  const messages = alternatingMessages(turns, (turn) => renderTurn(turn, names));
  if (messages[0]?.role === 'assistant') messages.unshift({ role: 'user', content: renderText(SILENT_USER) });
  return messages;
}

function renderTurn(turn: Turn, names: DocumentNames): JsonObject[] {
  switch (turn.role) {
    case 'assistant':
      return turn.parts.flatMap(renderAnswerPart);
    case 'tool':
      return turn.parts.flatMap((result) => [renderToolResult(result, names), ...cachePoint(result)]);
    default:
      return turn.parts.flatMap((part) => [...renderInputPart(part, names), ...cachePoint(part)]);
  }
}

/** The block that marks the end of a prefix for the cache. */
function cachePoint({ cacheBreakpoint }: { readonly cacheBreakpoint?: CacheBreakpoint | undefined }): JsonObject[] {
  return cacheBreakpoint === undefined ? [] : [{ cachePoint: { type: 'default', ...cacheBreakpoint } }];
}

const CACHE_POINT: JsonObject = { cachePoint: { type: 'default' } };

function markLast(messages: readonly Message[], cacheBreakpoint: CacheBreakpoint): readonly Message[] {
  const last = messages.at(-1);
  if (last === undefined) return messages;
  return [...messages.slice(0, -1), { ...last, content: [...last.content, ...cachePoint({ cacheBreakpoint })] }];
}

function renderSystem(request: TextRequest, isMarked: boolean): JsonObject[] | undefined {
  const parts = hoistedParts(request.turns);
  const blocks = parts.flatMap((part) => [...renderText(part.text), ...cachePoint(part)]);
  if (blocks.length === 0) return undefined;
  return isMarked ? [...blocks, CACHE_POINT] : blocks;
}

/** Bedrock refuses text that consists of white space. */
function renderText(text: string): JsonObject[] {
  return text.trim() === '' ? [] : [{ text }];
}

function renderInputPart(part: InputPart, names: DocumentNames): JsonObject[] {
  if (part.type === 'text') return renderText(part.text);
  return [part.type === 'image' ? renderImage(part) : renderFile(part, names)];
}

const IMAGE_FORMATS = ['png', 'jpeg', 'gif', 'webp'];
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/html': 'html',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
};
const VIDEO_FORMATS = ['mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv'];

function renderImage({ source }: ImagePart | FilePart): JsonObject {
  const bytes = bytesOf(source);
  const [, subtype = ''] = (source.mediaType ?? '').split('/');
  const format = subtype === 'jpg' ? 'jpeg' : subtype;
  if (!IMAGE_FORMATS.includes(format))
    throw badRequest(`the model does not accept images of the type ${source.mediaType}: send PNG, JPEG, GIF or WebP`);
  return { image: { format, source: { bytes } } };
}

function renderFile(part: FilePart, names: DocumentNames): JsonObject {
  const mediaType = part.source.mediaType ?? 'application/pdf';
  const [kind, subtype = ''] = mediaType.split('/');
  if (kind === 'image') return renderImage(part);
  const bytes = bytesOf(part.source);
  if (kind === 'video' && VIDEO_FORMATS.includes(subtype)) return { video: { format: subtype, source: { bytes } } };
  const textFormat = textOfFile(part.source) === null ? undefined : 'txt';
  const format = Object.hasOwn(DOCUMENT_FORMATS, mediaType) ? DOCUMENT_FORMATS[mediaType] : textFormat;
  if (format === undefined) throw badRequest(`the model does not accept files of the type ${mediaType}`);
  return { document: { format, name: names.next(part.filename), source: { bytes } } };
}

function bytesOf(source: ImagePart['source']): string {
  if (source.kind === 'base64') return source.data;
  throw badRequest('the model does not fetch images and files from links: send them in the request as base64');
}

/** Names of documents, which must be unique and have only some characters. */
class DocumentNames {
  #count = 0;

  next(filename = ''): string {
    this.#count += 1;
    const name = filename
      .replace(/\.\w+$/, '')
      .replaceAll(/[^A-Za-z0-9\s()[\]-]+/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .slice(0, 100)
      .trim();
    return `${name || 'document'} ${this.#count}`;
  }
}

function renderAnswerPart(part: AssistantPart): JsonObject[] {
  if (part.type === 'audio') return renderAnswerPart(transcriptOf(part));
  if (part.type === 'image') return renderAnswerPart(IMAGE_NOTE);
  if (part.type === 'text') return [...renderText(part.text), ...cachePoint(part)];
  if (part.type === 'tool-call') {
    const call = { toolUse: { toolUseId: part.callId, name: part.name, input: argumentsOf(part) } };
    return [call, ...cachePoint(part)];
  }
  // Bedrock checks the signature, so the request omits reasoning without one.
  const { text, signature, redacted } = part;
  if (signature === undefined || signature === '') return [];
  if (redacted === true) return [{ reasoningContent: { redactedContent: signature } }];
  return [{ reasoningContent: { reasoningText: { text, signature } } }];
}

function renderToolResult(result: ToolResultPart, names: DocumentNames): JsonObject {
  const content = result.content.flatMap((part) => renderInputPart(part, names));
  return {
    toolResult: compact({
      toolUseId: result.callId,
      content: content.length === 0 ? [{ text: '(no output)' }] : content,
      status: result.isError === true ? 'error' : undefined,
    }),
  };
}

/** Bedrock has no choice to call none, and needs tools wherever the conversation has calls. */
function renderTools(request: TextRequest, isMarked: boolean): JsonObject | undefined {
  const { tools, toolChoice, turns } = request;
  if (tools.length === 0 || toolChoice?.type === 'none') {
    const hasCalls = turns.some(({ role, parts }) => role === 'tool' || parts.some(({ type }) => type === 'tool-call'));
    return hasCalls ? { tools: [PAST_TOOL] } : undefined;
  }
  const specs = tools.flatMap((tool) => [renderTool(tool), ...cachePoint(tool)]);
  return compact({
    tools: isMarked ? [...specs, CACHE_POINT] : specs,
    toolChoice: renderToolChoice(toolChoice),
  });
}

/** Stands for the tools of earlier calls, which the model no longer has. */
const PAST_TOOL: JsonObject = {
  toolSpec: {
    name: 'unavailable',
    description: 'No tool is available any more. Do not call this.',
    inputSchema: { json: { type: 'object', properties: {} } },
  },
};

function renderTool({ name, description, parameters, strict }: Tool): JsonObject {
  const json = { type: 'object', properties: {}, ...parameters };
  // Bedrock refuses an empty description.
  return {
    toolSpec: compact({
      name,
      description: description || undefined,
      inputSchema: { json },
      strict: strict || undefined,
    }),
  };
}

function renderToolChoice(choice: TextRequest['toolChoice']): JsonObject | undefined {
  if (choice === undefined || choice.type === 'none') return undefined;
  if (choice.type === 'tool') return { tool: { name: choice.name } };
  return choice.type === 'required' ? { any: {} } : { auto: {} };
}

function renderOutputFormat(format: OutputFormat): JsonObject | undefined {
  if (format.type !== 'json-schema' || format.schema === undefined) return undefined;
  const { name, description, schema } = format;
  const jsonSchema = compact({ schema: JSON.stringify(schema), name, description });
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
}

interface ModelFields {
  readonly fields?: JsonObject | undefined;
  /** The settings that the model would refuse. */
  readonly omitted: readonly Setting[];
}

/** Each vendor's models have a field of their own. Other models, such as DeepSeek's, always reason. */
function renderReasoning(request: TextRequest, options: UpstreamOptions): ModelFields {
  const { model, baseModel = model } = options;
  if (/claude/i.test(baseModel)) return renderClaudeReasoning(request, options);
  return { fields: options.reasons === true ? renderEffort(request, baseModel) : undefined, omitted: [] };
}

function renderClaudeReasoning(request: TextRequest, options: UpstreamOptions): ModelFields {
  const { sampling } = request;
  const { thinking, effort, omitted } = claudeReasoning(request, options, sampling.maxOutputTokens ?? Infinity);
  const fields = compact({ thinking, output_config: effort === undefined ? undefined : { effort } });
  return {
    fields: Object.keys(fields).length === 0 ? undefined : fields,
    omitted: [...omitted, ...refusedVariety(sampling, thinking, options)],
  };
}

function renderEffort({ reasoningEffort: effort }: TextRequest, model: string): JsonObject | undefined {
  if (effort === undefined) return undefined;
  if (/\bopenai\./.test(model)) return { reasoning_effort: THREE_EFFORTS[effort] };
  if (!/\bamazon\.nova/.test(model)) return undefined;
  if (effort === 'none') return { reasoningConfig: { type: 'disabled' } };
  return { reasoningConfig: { type: 'enabled', maxReasoningEffort: THREE_EFFORTS[effort] } };
}
