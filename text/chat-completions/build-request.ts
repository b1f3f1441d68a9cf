/** A canonical request as a chat-completions body. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import type {
  AssistantPart,
  AudioOutput,
  FilePart,
  ImagePart,
  InputPart,
  OutputFormat,
  TextRequest,
  Tool,
  ToolChoice,
  ToolResultPart,
  Turn,
} from '../canonical.ts';
import { withPortableCallIds } from '../call-ids.ts';
import { DEFAULT_FILENAME, urlOf } from '../data-url.ts';
import { forwardedFields } from '../fields.ts';
import { mapItems } from '../map-json.ts';
import { compact } from '../read.ts';
import { IMAGE_NOTE, pairToolResults, textOf, transcriptOf } from '../turns.ts';
import type { ForwardedRequest, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';
import { earlierReasoning, withEarlierReasoning } from './earlier-reasoning.ts';
import { withOneSystem, withOneSystemMessage } from './one-system.ts';
import { renderFunctionCall } from './render-result.ts';
import { detailsOf } from './reasoning-details.ts';
import { reasoningBeforeCall } from './required-calls.ts';
import { READ_REQUEST } from './request-shape.ts';

const PATH = '/chat/completions';

/** Usage is always requested, because the gateway bills by it. */
const STREAM_OPTIONS = { include_usage: true };

export function buildRequest(request: TextRequest, options: UpstreamOptions): UpstreamRequest {
  const { sampling } = request;
  const { fields: reasoning, omitted } = reasoningBeforeCall(request, options);
  const body = compact({
    model: options.model,
    messages: pairToolResults(
      withPortableCallIds(withOneSystem(request.turns, options), options.baseModel ?? options.model),
    ).flatMap((turn) => renderTurn(turn, options)),
    stream: request.stream,
    stream_options: request.stream ? STREAM_OPTIONS : undefined,
    ...outputBound(sampling, options),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    stop: sampling.stopSequences,
    seed: sampling.seed,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    n: sampling.choiceCount,
    tools: request.tools.length === 0 ? undefined : request.tools.map(renderTool),
    ...renderToolSettings(request),
    ...reasoning,
    response_format: request.outputFormat === undefined ? undefined : renderOutputFormat(request.outputFormat),
    verbosity: request.verbosity,
    user: request.userId,
    ...(request.audioOutput && renderAudioOutput(request.audioOutput)),
    ...fieldsTaken(request, options),
  });
  return { path: PATH, headers: headersOf(options), body, omitted };
}

/** The client's body with the upstream's model name and, for a stream, a request for the usage. */
export function forwardRequest(body: JsonObject, request: TextRequest, options: UpstreamOptions): ForwardedRequest {
  const { fields: reasoning, omitted } = reasoningBeforeCall(request, options);
  const forwarded = {
    path: PATH,
    headers: headersOf(options),
    omitted,
    body: Object.assign(
      acceptedBody(forwardedFields(body, FORWARDED), request, options),
      compact({ model: options.model, ...reasoning }),
      fieldsTaken(request, options),
      request.audioOutput && { audio: body['audio'] },
      outputBound(request.sampling, options),
    ),
  };
  if (!request.stream) return forwarded;
  const streamOptions = { ...Object(body['stream_options']), ...STREAM_OPTIONS };
  const streamed = { ...forwarded, body: { ...forwarded.body, stream_options: streamOptions } };
  if (request.includeUsage === true) return streamed;
  return { ...streamed, shouldKeepEvent: ({ data }) => !HAS_NO_CHOICES.test(data) || !isUsageAlone(data) };
}

/** A client's body as every upstream accepts it: without empty lists, settings for tools without tools, and options of a stream without one. */
function acceptedBody(
  { tools, tool_choice, parallel_tool_calls, stop, stream_options, ...others }: JsonObject,
  { stream }: TextRequest,
  options: UpstreamOptions,
): JsonObject {
  const toolFields = tools === undefined || isEmptyList(tools) ? {} : { tools, tool_choice, parallel_tool_calls };
  const kept = compact({
    ...others,
    ...toolFields,
    stop: isEmptyList(stop) ? undefined : stop,
    stream_options: stream ? stream_options : undefined,
  });
  const accepted = mapItems(kept, 'messages', (message) => withEarlierReasoning(acceptedMessage(message), options));
  return withOneSystemMessage(accepted, options);
}

/**
 * A client's message as every upstream accepts it: only the format's vendor knows the role `developer`, which is another name of `system`,
 * and some vendors refuse parts in the results of tools.
 */
function acceptedMessage(message: JsonObject): JsonObject {
  const { role, content, tool_calls: calls } = message;
  if (role === 'developer') return { ...message, role: 'system' };
  if (role === 'tool' && isPlainText(content))
    return { ...message, content: content.map(({ text }) => text).join('\n') };
  return isEmptyList(calls) ? compact({ ...message, tool_calls: undefined }) : message;
}

/** Whether content has only parts of text, which have nothing else. */
function isPlainText(content: unknown): content is readonly { readonly text: string }[] {
  return listOf(content).length > 0 && listOf(content).every(isPlainPart);
}

function isPlainPart(part: unknown): boolean {
  return (
    isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' && Object.keys(part).length === 2
  );
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Not copied from the client's body: the bound has one name, audio has a price of its own, and vendors charge for searches by the piece. */
const DECIDED_HERE: ReadonlySet<string> = new Set([
  'reasoning_effort',
  'max_tokens',
  'max_completion_tokens',
  'audio',
  'web_search_options',
]);
const FORWARDED = { forwarded: new Set([...READ_REQUEST.full.forwarded].filter((name) => !DECIDED_HERE.has(name))) };

/** The fields with a cost beyond tokens that the operator lets through to an upstream. */
function fieldsTaken(
  { chatFields }: TextRequest,
  { chatFields: taken = [], maxWebSearches }: UpstreamOptions,
): JsonObject {
  if (chatFields === undefined) return {};
  const names: readonly string[] = maxWebSearches === undefined ? taken : [...taken, 'web_search_options'];
  return Object.fromEntries(Object.entries(chatFields).filter(([field]) => names.includes(field)));
}

const HAS_NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;

/** Whether a chunk has only the usage. Other chunks without choices contain a filter's findings. */
function isUsageAlone(data: string): boolean {
  const { choices, usage } = objectOf(JSON.parse(data));
  return Array.isArray(choices) && choices.length === 0 && isObject(usage);
}

/** Under one name only: some upstreams refuse the other one, or both at once. */
function outputBound({ maxOutputTokens }: TextRequest['sampling'], options: UpstreamOptions): JsonObject {
  return maxOutputTokens === undefined ? {} : { [options.maxTokensField ?? 'max_tokens']: maxOutputTokens };
}

export function headersOf(options: UpstreamOptions): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${options.apiKey}` };
}

/** https://platform.openai.com/docs/guides/audio. The text is the transcript. */
function renderAudioOutput({ voice, format }: AudioOutput): JsonObject {
  if (voice === undefined) throw badRequest('the model needs the name of a voice for its audio');
  return { modalities: ['text', 'audio'], audio: { voice, format } };
}

function renderTurn(turn: Turn, options: UpstreamOptions): JsonObject[] {
  switch (turn.role) {
    case 'system':
      return [{ role: 'system', content: turn.parts.map((part) => part.text).join('\n\n') }];
    case 'user':
      return [{ role: 'user', content: renderContent(turn.parts) }];
    case 'assistant':
      return [renderAnswer(turn.parts, options)];
    default:
      return renderToolResults(turn.parts);
  }
}

/** A single text part becomes a plain string, which every compatible upstream understands. */
function renderContent(parts: readonly InputPart[]): unknown {
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && first.type === 'text' ? first.text : parts.map(renderInputPart);
}

function renderInputPart(part: InputPart): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'file') return renderFile(part);
  return { type: 'image_url', image_url: compact({ url: urlOf(part.source), detail: part.detail }) };
}

const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/x-wav': 'wav',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
};

function renderFile(part: FilePart): JsonObject {
  if (part.source.mediaType?.startsWith('video/') === true) {
    return { type: 'video_url', video_url: { url: urlOf(part.source) } };
  }
  if (part.source.kind === 'url') {
    throw badRequest('the model does not take links to files: send the file itself as base64');
  }
  const format = AUDIO_FORMATS[part.source.mediaType];
  if (format === undefined && part.source.mediaType.startsWith('audio/')) {
    throw badRequest(`the model takes audio as wav or mp3, not as ${part.source.mediaType}: convert the audio`);
  }
  if (format !== undefined) return { type: 'input_audio', input_audio: { data: part.source.data, format } };
  return { type: 'file', file: { file_data: urlOf(part.source), filename: part.filename ?? DEFAULT_FILENAME } };
}

function renderAnswer(parts: readonly AssistantPart[], options: UpstreamOptions): JsonObject {
  const { speaks = false } = options;
  const audio = parts.find((part) => part.type === 'audio');
  const audioId = speaks ? audio?.audioId : undefined;
  const spoken = audio === undefined || audioId !== undefined ? [] : [transcriptOf(audio).text];
  const written = parts.map((part) => (part.type === 'image' ? IMAGE_NOTE : part));
  const text = [...written.flatMap((part) => (part.type === 'text' ? [part.text] : [])), ...spoken].join('');
  const reasoning = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('');
  const signed = parts.map((part) => ('signature' in part ? detailsOf(part.signature) : []));
  const details = signed.flat();
  const calls = parts.flatMap((part, index) => {
    if (part.type !== 'tool-call') return [];
    return signed[index]?.length === 0 ? part : { ...part, signature: undefined };
  });
  return compact({
    role: 'assistant',
    content: text === '' && (calls.length > 0 || audioId !== undefined) ? null : text,
    audio: audioId === undefined ? undefined : { id: audioId },
    ...(details.length === 0
      ? { reasoning_content: earlierReasoning(reasoning, options) }
      : { reasoning_details: details }),
    tool_calls: calls.length === 0 ? undefined : calls.map(renderFunctionCall),
  });
}

/** One message per result. Tool messages can only contain text, so their images follow in a user message. */
function renderToolResults(results: readonly ToolResultPart[]): JsonObject[] {
  const messages = results.map((result) => ({
    role: 'tool',
    tool_call_id: result.callId,
    content: textOf(result),
  }));
  const attachments = results.flatMap((result) => {
    const parts = result.content.filter((part): part is ImagePart | FilePart => part.type !== 'text');
    if (parts.length === 0) return [];
    return [{ type: 'text', text: `Attached to the result of ${result.callId}:` }, ...parts.map(renderInputPart)];
  });
  return attachments.length === 0 ? messages : [...messages, { role: 'user', content: attachments }];
}

function renderTool(tool: Tool): JsonObject {
  const { name, description, parameters, strict } = tool;
  return { type: 'function', function: compact({ name, description, parameters, strict: strict ?? false }) };
}

/** Upstreams refuse settings for tools in a request without tools. */
function renderToolSettings({ tools, toolChoice, parallelToolCalls }: TextRequest): JsonObject {
  if (tools.length === 0) return {};
  const choice = toolChoice === undefined ? undefined : renderToolChoice(toolChoice);
  return compact({ tool_choice: choice, parallel_tool_calls: parallelToolCalls });
}

function renderToolChoice(choice: ToolChoice): unknown {
  return choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type;
}

function renderOutputFormat(format: OutputFormat): JsonObject {
  if (format.type === 'json-object') return { type: 'json_object' };
  const { name, description, schema, strict } = format;
  return { type: 'json_schema', json_schema: compact({ name, description, schema, strict }) };
}
