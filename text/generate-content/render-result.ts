/** A canonical answer as a native response: contract 4.8.4. Thinking text is returned only where a request asks for it. */
import type { JsonObject } from '../../domain/json.ts';
import type {
  AnswerImage,
  AudioPart,
  Choice,
  FinishReason,
  FoundOnWeb,
  TextRequest,
  TextResult,
  ToolCallPart,
  Usage,
} from '../canonical.ts';
import { objectOfText } from '../json/parse.ts';
import { compact } from '../read.ts';
import { malformedAnswer } from '../upstream-errors.ts';
import type { RenderContext } from '../wire-format.ts';
import type { AnswerPartOnWire, FinishReasonOnWire, UsageMetadata } from './types.ts';

/** The reasons for which answers end; moderation is an error instead. The stop sequence that hit cannot be named. */
export const FINISH_REASONS: Readonly<Record<FinishReason, FinishReasonOnWire>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
};

/** The part of an answer, or of its end, without any: SDKs drop an answer without parts from the history. */
export const EMPTY_PART: AnswerPartOnWire = { text: '' };

export function renderResult(result: TextResult, context: RenderContext): JsonObject {
  return {
    candidates: result.choices.map((choice, index) => renderCandidate(choice, index, context.request)),
    usageMetadata: renderUsage(result.usage),
    modelVersion: context.request.model,
    responseId: context.responseId,
  };
}

/** Whether the answer has the text of the thinking. */
export function hasThoughts({ reasoningDisplay }: TextRequest): boolean {
  return reasoningDisplay === 'text';
}

function renderCandidate(
  { parts, audio, images = [], searches = [], finish }: Choice,
  index: number,
  request: TextRequest,
): JsonObject {
  const withThoughts = hasThoughts(request);
  const rendered: AnswerPartOnWire[] = [];
  for (const part of parts) {
    const previous = rendered.at(-1);
    if (part.type === 'tool-call') {
      rendered.push(...renderCall(part, finish.reason));
    } else if (part.type === 'reasoning') {
      if (withThoughts && part.text !== '') rendered.push({ text: part.text, thought: true });
    } else if (previous !== undefined && 'text' in previous && previous.thought !== true) {
      rendered[rendered.length - 1] = { text: previous.text + part.text };
    } else {
      rendered.push({ text: part.text });
    }
  }
  if (audio !== undefined) rendered.push(...renderAudio(audio, request));
  rendered.push(...images.map(renderImage));
  return {
    content: { role: 'model', parts: rendered.length === 0 ? [EMPTY_PART] : rendered },
    finishReason: FINISH_REASONS[finish.reason],
    index,
    ...groundingOf(searches),
  };
}

/** `pcm16` of chat completions, in this format's terms. */
const PCM_TYPE = 'audio/L16;codec=pcm;rate=24000';

/** The parts for audio, with its transcript if the client wants text, too. */
export function renderAudio(
  { data = '', mediaType = PCM_TYPE, transcript = '' }: Omit<AudioPart, 'type'>,
  { audioOutput }: TextRequest,
): AnswerPartOnWire[] {
  return [
    ...(transcript !== '' && audioOutput?.hasText === true ? [{ text: transcript }] : []),
    ...(data === '' ? [] : [{ inlineData: { mimeType: mediaType, data } }]),
  ];
}

export function renderImage({ mediaType, data }: AnswerImage): AnswerPartOnWire {
  return { inlineData: { mimeType: mediaType, data } };
}

/** The searches for an answer, with the pages that they found. */
export function groundingOf(searches: readonly FoundOnWeb[]): JsonObject {
  if (searches.length === 0) return {};
  const groundingChunks = searches.flatMap(({ results }) =>
    results.map(({ url: uri, title }) => ({ web: { uri, title } })),
  );
  return { groundingMetadata: { webSearchQueries: searches.map(({ query }) => query), groundingChunks } };
}

/**
 * The part for a tool call. There is none for a call that the token limit cut, because its arguments are not an object.
 *
 * @throws ServiceError `processing_failed` when the arguments are not an object for any other reason
 */
export function renderCall(call: ToolCallPart, finish: FinishReason): AnswerPartOnWire[] {
  const args = objectOfText(call.arguments);
  if (args === null && finish !== 'length') throw malformedAnswer();
  if (args === null) return [];
  return [compact({ functionCall: { id: call.callId, name: call.name, args }, thoughtSignature: call.signature })];
}

/** Omits unreported numbers where the format allows it; elsewhere they are 0. */
export function renderUsage(usage: Usage): UsageMetadata {
  const input = usage.inputTotal ?? 0;
  const output = usage.outputTotal ?? 0;
  return compact({
    promptTokenCount: input,
    cachedContentTokenCount: usage.cacheRead ?? undefined,
    candidatesTokenCount: Math.max(output - (usage.reasoning ?? 0), 0),
    thoughtsTokenCount: usage.reasoning ?? undefined,
    totalTokenCount: input + output,
    promptTokensDetails: detailsOf(input, usage.audioInput),
    candidatesTokensDetails: detailsOf(Math.max(output - (usage.reasoning ?? 0), 0), usage.audioOutput),
  });
}

/** The counts by modality; undefined without audio. */
function detailsOf(tokens: number, audio: number | null): UsageMetadata['promptTokensDetails'] {
  if (audio === null || audio === 0) return undefined;
  const text = Math.max(tokens - audio, 0);
  return [
    ...(text === 0 ? [] : [{ modality: 'TEXT', tokenCount: text } as const]),
    { modality: 'AUDIO', tokenCount: audio },
  ];
}
