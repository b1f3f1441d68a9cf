/** A canonical answer as a chat.completion object: contract 4.8.1. */
import type { JsonObject } from '../../domain/json.ts';
import { pcmOfType, wavHeader } from '../../domain/wav.ts';
import type {
  AnswerImage,
  AnswerPart,
  AudioPart,
  Choice,
  FinishReason,
  TextRequest,
  TextResult,
  ToolCallPart,
  Usage,
  WebSearchResult,
} from '../canonical.ts';
import { urlOf } from '../data-url.ts';
import { takesFreeText, textOfArguments } from '../free-text-tools.ts';
import { compact } from '../read.ts';
import type { RenderContext } from '../wire-format.ts';
import { extraContentOf } from './signatures.ts';
import type { ChatFinishReason, ChatFunctionToolCall, ChatToolCall, ChatUsage } from './types.ts';

/** The format has three reasons, and cannot say which stop sequence hit. */
export const FINISH_REASONS: Readonly<Record<FinishReason, ChatFinishReason>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
};

export function renderResult(result: TextResult, context: RenderContext): JsonObject {
  return {
    id: completionId(context),
    object: 'chat.completion',
    created: context.createdAtSeconds,
    model: context.request.model,
    choices: result.choices.map((choice, index) => renderChoice(choice, index, context)),
    usage: renderUsage(result.usage),
  };
}

export function completionId(context: RenderContext): string {
  return `chatcmpl-${context.responseId}`;
}

function renderChoice(
  { parts, audio, images = [], logprobs, searches = [], finish }: Choice,
  index: number,
  context: RenderContext,
): JsonObject {
  const calls = parts.filter((part) => part.type === 'tool-call');
  const text = joined(parts, 'text');
  const reasoning = joined(parts, 'reasoning');
  return {
    index,
    message: compact({
      role: 'assistant',
      // Null only beside audio and tool calls: without any text it is empty, also when reasoning took the whole budget.
      content: text === '' && (calls.length > 0 || audio !== undefined) ? null : text,
      reasoning_content: reasoning === '' ? undefined : reasoning,
      audio: audio && renderAudio(audio, index, context),
      images: images.length === 0 ? undefined : images.map(renderImage),
      ...renderCalls(calls, context),
      ...annotationsOf(searches.flatMap(({ results }) => results)),
    }),
    logprobs: logprobs ?? null,
    finish_reason: finishReasonFor(finish.reason, context),
  };
}

function renderAudio(audio: AudioPart, index: number, context: RenderContext): JsonObject {
  const { audioId = audioIdOf(index, context), transcript = '', expiresAtSeconds } = audio;
  // Without a name at the upstream, the audio cannot be referred to.
  const expires_at = expiresAtSeconds ?? context.createdAtSeconds;
  return { id: audioId, data: asRequested(audio, context), transcript, expires_at };
}

/** An image in the form of OpenRouter: https://openrouter.ai/docs/features/multimodal/image-generation */
export function renderImage(image: AnswerImage, index: number): JsonObject {
  return { type: 'image_url', index, image_url: { url: urlOf(image) } };
}

/** The id of audio that has no name at the upstream. */
export function audioIdOf(index: number, { responseId }: RenderContext): string {
  return `audio_${responseId}_${index}`;
}

/** Adds the header of a WAV file to samples of upstreams that send no file. */
function asRequested({ data = '', mediaType }: AudioPart, { request }: RenderContext): string {
  if (mediaType === undefined || request.audioOutput?.format !== 'wav') return data;
  const samples = Buffer.from(data, 'base64');
  return Buffer.concat([wavHeader(pcmOfType(mediaType), samples.byteLength), samples]).toString('base64');
}

function renderCalls(calls: readonly ToolCallPart[], context: RenderContext): JsonObject {
  const [first] = calls;
  if (first === undefined) return {};
  // A function call has no id, and there is room for only one.
  return hasLegacyFunctions(context)
    ? { function_call: renderFunctionCall(first).function }
    : { tool_calls: calls.map((call) => renderToolCall(call, context.request)) };
}

/** Whether calls are written as function calls, because the request used `functions`. */
export function hasLegacyFunctions({ request }: RenderContext): boolean {
  return request.functions?.answers === true;
}

export function finishReasonFor(reason: FinishReason, context: RenderContext): ChatFinishReason {
  return reason === 'tool-calls' && hasLegacyFunctions(context) ? 'function_call' : FINISH_REASONS[reason];
}

/** The pages that searches found. Their places in the text are unknown. */
export function annotationsOf(results: readonly WebSearchResult[]): JsonObject {
  if (results.length === 0) return {};
  return {
    annotations: results.map(({ url, title }) => ({
      type: 'url_citation',
      url_citation: { url, title, start_index: 0, end_index: 0 },
    })),
  };
}

function joined(parts: readonly AnswerPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

function renderToolCall(call: ToolCallPart, { tools }: Pick<TextRequest, 'tools'>): ChatToolCall {
  if (!takesFreeText(tools, call.name)) return renderFunctionCall(call);
  const called = { name: call.name, input: textOfArguments(call.arguments) };
  return { id: call.callId, type: 'custom', custom: called, ...extraContentOf(call.signature) };
}

export function renderFunctionCall(call: ToolCallPart): ChatFunctionToolCall {
  const called = { name: call.name, arguments: call.arguments };
  return { id: call.callId, type: 'function', function: called, ...extraContentOf(call.signature) };
}

/** Omits unreported numbers from the details, and counts them as 0 in the totals. */
export function renderUsage(usage: Usage): ChatUsage {
  const input = usage.inputTotal ?? 0;
  const output = usage.outputTotal ?? 0;
  const { cacheRead, cacheWrite, reasoning, audioInput, audioOutput } = usage;
  const inputDetails = detailsOf({
    cached_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    audio_tokens: audioInput || null,
  });
  const outputDetails = detailsOf({ reasoning_tokens: reasoning, audio_tokens: audioOutput || null });
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(inputDetails && { prompt_tokens_details: inputDetails }),
    ...(outputDetails && { completion_tokens_details: outputDetails }),
  };
}

/** The reported counts; undefined without any. */
function detailsOf(counts: Readonly<Record<string, number | null>>): Readonly<Record<string, number>> | undefined {
  let details: Record<string, number> | undefined;
  for (const name in counts) {
    const count = counts[name] ?? null;
    if (count !== null) (details ??= {})[name] = count;
  }
  return details;
}
