/** One request over one route, and its answer: passed through, or converted. */
import { speaks, type TextModel, type TextRoute } from '../../catalogue/types.ts';
import type { JsonObject } from '../../domain/json.ts';
import { COMPRESSED_BYTES_PER_SECOND } from '../../domain/speech-format.ts';
import { bytesPerSecond, USUAL_PCM } from '../../domain/wav.ts';
import type { PreparedRequest } from '../../providers/text/attempt.ts';
import { parseAnswer } from '../../text/answer-json.ts';
import { callIdReplacements } from '../../text/call-ids.ts';
import type {
  AudioOutput,
  RerankOptions,
  SpeechOptions,
  TextRequest,
  TranscriptionOptions,
} from '../../text/canonical.ts';
import { buildEmbeddingsRequest } from '../../text/embeddings/index.ts';
import { streamVectors } from '../../text/embeddings/read-answer.ts';
import {
  type AnswerConversion,
  boundToCut,
  countCalls,
  planConversion,
  planUnexpectedAnswer,
  stopSequencesToCut,
} from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { type Forwarding, planForwarding } from '../../text/forward.ts';
import { type Frame, framePieces, splitFrames } from '../../text/frames.ts';
import { inArray } from '../../text/generate-content/array-stream.ts';
import { type JoinedChoice, JoinedChoices } from '../../text/join-choices.ts';
import { writeJson, type WrittenJson } from '../../text/json/write.ts';
import type { Meter } from '../../text/meter.ts';
import { buildRerankRequest } from '../../text/rerank/index.ts';
import { readRanking } from '../../text/rerank/read-answer.ts';
import { runStage, type Stage } from '../../text/stage.ts';
import { adaptBody, namesForClient } from '../../text/route-fields.ts';
import { buildSpeechRequest } from '../../text/voice/speech.ts';
import { convertSpeech, readSpeech, SPEECH_TYPES, splitSpeech } from '../../text/voice/speech-answer.ts';
import { readTranscript, readTranscriptEvents } from '../../text/voice/transcript-answer.ts';
import { buildTranscriptionRequest } from '../../text/voice/transcription.ts';
import { isOutputConverted } from '../../text/structured-output.ts';
import {
  findFieldsPassedOn,
  findFieldsUnusedAfterConversion,
  findFieldsUnusedWhenForwarded,
} from '../../text/unused-fields.ts';
import type {
  SingleFormat,
  RenderContext,
  UpstreamOptions,
  UpstreamRequest,
  WireFormat,
} from '../../text/wire-format.ts';
import { EVENT_STREAM_TYPE, type Piece } from './client-stream.ts';
import { maxSearches } from './bound-input.ts';
import { estimateInputTokens } from './estimate-tokens.ts';

export interface Exchange extends PreparedRequest {
  /** The fields of the client's body without effect, by their paths. */
  readonly unusedFields: readonly string[];
  /** Measures the answer. */
  readonly meter: Meter;
  /**
   * Converts the bytes of a whole answer to the client's body; null while further calls of the request follow.
   * Throws a ServiceError if the bytes contain no answer.
   */
  readonly readResult: (bytes: Uint8Array) => Promise<WrittenJson | null>;
  /** Splits the bytes of a stream into frames. Call it once. */
  readonly splitStream: () => Stage<Buffer, Frame>;
  /** Converts the frames of a stream to the client's format. Call it once. */
  readonly readStream: () => Stage<Frame, Piece>;
  /** Reads an answer that the upstream sends whole although it should stream, or the reverse; null for embeddings. */
  readonly unexpected: UnexpectedAnswer | null;
  /** The content type of the answer to the client; that of the format by default. */
  readonly contentType?: string;
  /** Resolves when what was read of the answer is stored; null or absent if nothing is to be stored. */
  readonly stored?: () => Promise<void> | null;
}

interface UnexpectedAnswer {
  /** Converts the bytes of a whole answer to the events of the client's stream. Throws like `readResult`. */
  readonly streamResult: (bytes: Uint8Array) => Promise<readonly Piece[]>;
  /** Converts the frames of a stream to the client's body. Emits nothing while further calls of the request follow. Call it once. */
  readonly collectStream: () => Stage<Frame, JsonObject>;
}

/** A request as sent and as understood. */
export interface ReadRequest {
  readonly format: WireFormat | SingleFormat;
  readonly body: JsonObject;
  readonly request: TextRequest;
  readonly model: Pick<
    TextModel,
    'reasoning' | 'compatibility' | 'outputTokenLimit' | 'maxInputTokens' | 'pricing' | 'webSearch'
  >;
  /** Whether a stream is sent as items of a JSON array instead of server-sent events. */
  readonly streamsArray: boolean;
}

/** The context for writing the answer to a request. @param startedAtMs in milliseconds since 1970 */
export function renderContextOf(
  {
    read,
    requestId,
    startedAtMs,
  }: { readonly read: ReadRequest; readonly requestId: string; readonly startedAtMs: number },
  nowMs: () => number,
): RenderContext {
  return {
    request: read.request,
    responseId: requestId.slice(requestId.indexOf('_') + 1),
    createdAtSeconds: Math.floor(startedAtMs / 1000),
    nowSeconds: () => Math.floor(nowMs() / 1000),
    estimateInputTokens: () => estimateInputTokens(read.request),
  };
}

/** The calls of a request that takes several calls over a route; null if it takes one. */
export function joinedChoices(route: TextRoute, { sampling }: TextRequest): JoinedChoices | null {
  const count = countCalls(FORMATS[route.format], sampling.choiceCount);
  return count > 1 ? new JoinedChoices(count) : null;
}

/** The maximum number of calls that a request takes over any route of its model. */
export function maxCallCount({ routes }: Pick<TextModel, 'routes'>, { sampling }: TextRequest): number {
  return Math.max(...routes.map(({ format }) => countCalls(FORMATS[format], sampling.choiceCount)));
}

/** Limits the request to the output tokens that its hold covers. */
export function limitOutputTokens(read: ReadRequest, maxOutputTokens: number | null): ReadRequest {
  if (maxOutputTokens === null || maxOutputTokens === read.request.sampling.maxOutputTokens) return read;
  return { ...read, request: { ...read.request, sampling: { ...read.request.sampling, maxOutputTokens } } };
}

/**
 * Plans a request over a route.
 *
 * @param meter measures the answer
 * @param joined the place of this call, if the request takes several calls
 * @throws ServiceError `bad_request` if the upstream's format cannot express the request
 */
export function planExchange(
  { format, body: sentBody, request: sentRequest, model, streamsArray }: ReadRequest,
  route: TextRoute,
  apiKey: string,
  context: RenderContext,
  meter: Meter,
  joined: JoinedChoice | null,
): Exchange {
  const upstream = FORMATS[route.format];
  const options = optionsOf(route, model, apiKey);
  const isStreamed = route.streamsOnly === true && 'upstream' in format;
  const request = isStreamed ? { ...sentRequest, stream: true } : sentRequest;
  const body = isStreamed ? { ...sentBody, stream: true } : sentBody;
  if (!('upstream' in format)) {
    const { speech, transcription, rerank } = request;
    if (speech !== undefined) return planSpeech(speech, route, options, meter, model.outputTokenLimit > 0);
    if (transcription !== undefined) return planTranscription(transcription, request.stream, route, options, meter);
    if (rerank !== undefined) return planRerank(request, rerank, model, options, meter);
    return planEmbeddings(request, route, options, meter);
  }
  if (request.audioOutput !== undefined) meter.audioBytesPerSecond = pieceRateOf(request.audioOutput, route);
  const adapted = (upstreamRequest: UpstreamRequest): UpstreamRequest & { readonly unused: readonly string[] } => {
    const { body: sent, unused } = adaptBody(upstreamRequest.body, route);
    return { ...upstreamRequest, body: sent, unused: namesForClient(format, FORMATS[route.format], unused) };
  };
  const searches = searchesAtUpstream(format, request, route, model);
  if (joined === null && (searches || isPassedOn(format, request, route, model))) {
    const forwarding = planPassage(format, { body, request }, route, options, meter, searches);
    const upstreamRequest = adapted(forwarding.upstreamRequest);
    return {
      meter,
      unusedFields: [
        ...findFieldsUnusedWhenForwarded(format, request, upstreamRequest.omitted),
        ...upstreamRequest.unused,
      ],
      upstreamRequest,
      readResult: async (bytes) => {
        const answer = await parseAnswer(bytes);
        const passedOn = forwarding.checkResult(answer);
        return passedOn === answer ? [bytes] : writeJson(passedOn);
      },
      splitStream: splitFrames,
      readStream: () => (streamsArray ? inArray(forwarding.forwardStream()) : forwarding.forwardStream()),
      unexpected: unexpectedAnswer(() => planUnexpectedAnswer(format, request, options, meter), context, streamsArray),
    };
  }
  const conversion = planConversion(format, upstream, request, options, meter, joined);
  const { body: built } = conversion.upstreamRequest;
  const passedOn = findFieldsPassedOn(format, upstream, { body, request }, built);
  const upstreamRequest = adapted({ ...conversion.upstreamRequest, body: { ...built, ...passedOn } });
  return {
    meter,
    unusedFields: [
      ...findFieldsUnusedAfterConversion(format, upstream, request, upstreamRequest.omitted, passedOn),
      ...conversion.lostFields,
      ...upstreamRequest.unused,
    ],
    upstreamRequest,
    readResult: async (bytes) => {
      const body = conversion.convertResult(await parseAnswer(bytes), context);
      return body && writeJson(body);
    },
    splitStream: splitFrames,
    readStream: () => conversion.convertStream(context, streamsArray ? inArray : undefined),
    unexpected: unexpectedAnswer(() => conversion, context, streamsArray),
  };
}

function optionsOf(route: TextRoute, model: ReadRequest['model'], apiKey: string): UpstreamOptions {
  const { baseModel, maxTokensField, chatFields, structuredOutput, checkOutput, autoCache } = route;
  const { reasoning: reasons, compatibility } = model;
  return {
    model: route.model,
    baseModel,
    apiKey,
    origin: `${route.provider} ${route.format}`,
    reasons,
    compatibility,
    maxTokensField,
    chatFields,
    structuredOutput,
    checkOutput,
    autoCache,
    speaks: speaks(route),
  };
}

/** The bytes of a second of the upstream's audio. The native format has samples only. */
function pieceRateOf({ format: audioFormat }: AudioOutput, { format }: TextRoute): number {
  const isUncompressed = format === 'generate-content' || audioFormat === 'wav' || audioFormat === 'pcm16';
  return isUncompressed ? bytesPerSecond(USUAL_PCM) : COMPRESSED_BYTES_PER_SECOND;
}

/** @param searches whether the upstream searches the web, which chat-completions upstreams do not report */
function planPassage(
  format: WireFormat,
  { body, request }: Pick<ReadRequest, 'body' | 'request'>,
  route: TextRoute,
  options: UpstreamOptions,
  meter: Meter,
  searches: boolean,
): Forwarding {
  const isRenamed = format.name !== 'responses' && request.model !== route.model;
  const shownModel = isRenamed ? request.model : undefined;
  if (!searches) return planForwarding(format.upstream, body, request, options, meter, shownModel);
  if (format.name === 'chat-completions') meter.assumedWebSearches = 1;
  const searching = { ...options, maxWebSearches: request.webSearch?.maxCalls };
  return planForwarding(format.upstream, body, request, searching, meter, shownModel);
}

/** @param plan called for the few answers that are unexpected */
function unexpectedAnswer(
  plan: () => AnswerConversion,
  context: RenderContext,
  streamsArray: boolean,
): UnexpectedAnswer {
  return {
    streamResult: async (bytes) =>
      plan().streamResult(await parseAnswer(bytes), context, streamsArray ? inArray : undefined),
    collectStream: () => plan().collectStream(context),
  };
}

/** Vectors are too large to be read whole, so a client that does not stream also gets them as they arrive. */
function planEmbeddings(
  { model, embeddings }: TextRequest,
  route: TextRoute,
  options: UpstreamOptions,
  meter: Meter,
): Exchange {
  if (embeddings === undefined) throw new Error('the request is not one for embeddings');
  const upstreamRequest = buildEmbeddingsRequest(embeddings, options);
  const { body, unused } = adaptBody(upstreamRequest.body, route);
  const readStream = (): Stage<Frame, Uint8Array> => streamVectors({ ...embeddings, model, meter });
  return {
    meter,
    // The client gets its encoding in any case.
    unusedFields: unused.filter((field) => field !== 'encoding_format'),
    upstreamRequest: { ...upstreamRequest, body },
    readResult: async (bytes) => runStage([{ bytes: Buffer.from(bytes), isWhole: true }], readStream()),
    splitStream: framePieces,
    readStream,
    unexpected: null,
  };
}

function planRerank(
  request: TextRequest,
  rerank: RerankOptions,
  { pricing, maxInputTokens }: ReadRequest['model'],
  options: UpstreamOptions,
  meter: Meter,
): Exchange {
  const counts = {
    hasTokens: maxInputTokens > 0,
    maxSearches: pricing.rates.searchUnit === 0n ? null : maxSearches(rerank),
  };
  return {
    meter,
    unusedFields: request.unused?.always ?? [],
    upstreamRequest: buildRerankRequest(rerank, options),
    readResult: async (bytes) =>
      writeJson(readRanking(await parseAnswer(bytes), { model: request.model, rerank }, counts, meter)),
    splitStream: splitFrames,
    readStream: () => {
      throw new Error('ranked documents are not streamed');
    },
    unexpected: null,
  };
}

/** @param reportsTokens whether the price depends on tokens, which upstreams report only in events */
function planSpeech(
  speech: SpeechOptions,
  route: TextRoute,
  options: UpstreamOptions,
  meter: Meter,
  reportsTokens: boolean,
): Exchange {
  const isNative = route.format === 'generate-content';
  const upstreamRequest = buildSpeechRequest(speech, route, options, reportsTokens);
  const { body, unused } = adaptBody(upstreamRequest.body, route);
  return {
    meter,
    unusedFields: unused,
    upstreamRequest: { ...upstreamRequest, body },
    isWhole: isNative && !speech.asEvents,
    readResult: async () => null,
    splitStream: splitSpeech,
    readStream: () => readSpeech(speech, meter),
    unexpected: isNative
      ? {
          streamResult: async (bytes) => convertSpeech(await parseAnswer(bytes), speech, meter),
          collectStream: () => {
            throw new Error('speech is not collected');
          },
        }
      : null,
    contentType: speech.asEvents ? EVENT_STREAM_TYPE : SPEECH_TYPES[speech.audioFormat],
  };
}

function planTranscription(
  transcription: TranscriptionOptions,
  isStreamed: boolean,
  { format }: TextRoute,
  options: UpstreamOptions,
  meter: Meter,
): Exchange {
  const isText = ['text', 'srt', 'vtt'].includes(transcription.format) && !isStreamed;
  return {
    meter,
    unusedFields: [],
    upstreamRequest: buildTranscriptionRequest(transcription, format === 'generate-content', isStreamed, options),
    readResult: async (bytes) => {
      const transcript = readTranscript(await parseAnswer(bytes), transcription, meter);
      return typeof transcript === 'string' ? transcript : writeJson(transcript);
    },
    splitStream: splitFrames,
    readStream: () => readTranscriptEvents(transcription, meter),
    unexpected: null,
    ...(isText && { contentType: 'text/plain; charset=utf-8' }),
  };
}

/**
 * Whether request and answer are passed through unchanged. An answer names the model, so it is converted if the
 * upstream calls the model by another name; a request is converted if the upstream would refuse tool call ids that
 * another upstream issued (upstreams of the native format accept any). Functions are always sent to upstreams as tools.
 * Answers that may cite sources of the client are passed on in both cases, since only the client's format has citations.
 * An answer is also converted if the gateway cuts it at stop sequences or at a bound that the upstream does not accept, removes its reasoning, or checks its JSON. The
 * responses format passes everything else through, as specified.
 */
function isPassedOn(
  format: WireFormat,
  request: TextRequest,
  route: TextRoute,
  { reasoning }: Pick<TextModel, 'reasoning'>,
): boolean {
  if (!canPassOn(format, request, route)) return false;
  if (format.name === 'responses' || request.hasSources === true) return true;
  if (reasoning && request.reasoningDisplay === 'none') return false;
  return request.model === route.model;
}

/** Whether the upstream accepts the client's own request, and nothing of its answer but the model's name needs conversion. */
function canPassOn(format: WireFormat, request: TextRequest, route: TextRoute): boolean {
  const { name } = format;
  const { turns, functions, hasVendorTools = false } = request;
  if (name !== route.format || functions !== undefined || hasVendorTools) return false;
  if (isOutputConverted(request, route)) return false;
  if (boundToCut(format, request) !== null) return false;
  if (name === 'responses') return true;
  if (stopSequencesToCut(format, format, request).length > 0) return false;
  return name === 'generate-content' || callIdReplacements(turns, route.baseModel ?? route.model).size === 0;
}

/** Whether the upstream of a route searches the web itself for a request of its own format. */
export function searchesAtUpstream(
  format: WireFormat,
  request: TextRequest,
  route: TextRoute,
  { webSearch }: Pick<TextModel, 'webSearch'>,
): boolean {
  if (request.webSearch === undefined || webSearch === undefined || route.serverTools === false) return false;
  return canPassOn(format, request, route);
}
