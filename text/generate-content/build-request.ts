/** A canonical request as a native body. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf } from '../../domain/json.ts';
import type {
  AssistantPart,
  AudioOutput,
  AudioPart,
  FilePart,
  ImagePart,
  OutputFormat,
  Sampling,
  TextRequest,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
  Turn,
} from '../canonical.ts';
import { isMintedCallId } from '../call-ids.ts';
import { compact } from '../read.ts';
import {
  argumentsOf,
  checkArguments,
  hoistSystem,
  mergeNeighbours,
  pairToolResults,
  textOf,
  transcriptOf,
} from '../turns.ts';
import type { ForwardedRequest, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';
import { renderMedia } from './media.ts';
import { camelCased } from './names.ts';
import { isForImages, searchTools } from './request-shape.ts';
import { createSchemaSizeBudget, withoutReferences, type SchemaSizeBudget } from './schema.ts';
import { SKIP_SIGNATURE } from './signatures.ts';
import { renderThinking } from './thinking.ts';

export function buildRequest(request: TextRequest, options: UpstreamOptions): UpstreamRequest {
  checkArguments(request.turns);
  const { system, turns } = hoistSystem(request.turns);
  const contents = pairToolResults(mergeNeighbours(turns)).flatMap(renderTurn);
  const budget = createSchemaSizeBudget();
  const body = compact({
    contents,
    systemInstruction: system === null || system === '' ? undefined : { parts: [{ text: system }] },
    ...(request.tools.length === 0 ? {} : renderTools(request, budget)),
    generationConfig: {
      ...renderSampling(request.sampling),
      ...(request.outputFormat === undefined ? {} : renderOutputFormat(request.outputFormat, budget)),
      ...(request.audioOutput === undefined
        ? compact({ thinkingConfig: renderThinking(request, options) })
        : renderAudioOutput(request.audioOutput, request.stream)),
    },
  });
  return { ...addressOf(request, options), body };
}

/**
 * The client's body, reduced to the fields that have an effect: others, such as the name of cached content or a
 * built-in tool, would reach into the gateway's own account.
 */
export function forwardRequest(body: JsonObject, request: TextRequest, options: UpstreamOptions): ForwardedRequest {
  const { contents, systemInstruction, tools, toolConfig, generationConfig } = camelCased(body);
  const isFull = options.compatibility === 'full';
  const functions = listOf(tools).flatMap((tool) => {
    const declarations = isObject(tool) ? camelCased(tool)['functionDeclarations'] : undefined;
    return listOf(declarations);
  });
  const declared = functions.length === 0 ? [] : [{ functionDeclarations: functions }];
  const offered = options.maxWebSearches === undefined ? declared : [...declared, ...searchTools(tools)];
  const forwarded = compact({
    contents,
    systemInstruction: systemInstruction ?? undefined,
    tools: offered.length === 0 ? undefined : offered,
    toolConfig: isFull && functions.length > 0 && isObject(toolConfig) ? toolConfig : undefined,
    generationConfig: {
      ...(isFull && isObject(generationConfig) && settingsBesides(generationConfig, request, options)),
      ...renderSampling(request.sampling),
    },
  });
  return { ...addressOf(request, options), body: forwarded };
}

/** The client's own form of the thinking and of the answer's schema, which the canonical model simplifies. */
function settingsBesides(config: JsonObject, { audioOutput }: TextRequest, { reasons }: UpstreamOptions): JsonObject {
  const {
    thinkingConfig,
    responseMimeType,
    responseSchema,
    responseJsonSchema,
    _responseJsonSchema,
    imageConfig,
    ...rest
  } = camelCased(config);
  const { responseModalities, speechConfig } = audioOutput === undefined ? imageSettings(rest) : rest;
  return compact({
    thinkingConfig: reasons === true ? thinkingConfig : undefined,
    responseMimeType,
    responseSchema,
    responseJsonSchema,
    _responseJsonSchema,
    responseModalities,
    speechConfig,
    imageConfig: imageConfig ?? undefined,
  });
}

function imageSettings({ responseModalities }: JsonObject): JsonObject {
  return isForImages(listOf(responseModalities)) ? { responseModalities } : {};
}

/** The address of a call that streams or does not. */
export function addressOf(
  request: Pick<TextRequest, 'stream'>,
  { model, apiKey }: UpstreamOptions,
): Pick<UpstreamRequest, 'path' | 'headers'> {
  const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return { path: `/models/${encodeURIComponent(model)}:${method}`, headers: { 'x-goog-api-key': apiKey } };
}

function renderSampling(sampling: Sampling): JsonObject {
  const { stopSequences = [] } = sampling;
  return compact({
    maxOutputTokens: sampling.maxOutputTokens,
    temperature: sampling.temperature,
    // Upstreams refuse 0, which other formats accept.
    topP: sampling.topP || undefined,
    topK: sampling.topK || undefined,
    stopSequences: stopSequences.length === 0 ? undefined : stopSequences,
    seed: sampling.seed,
    frequencyPenalty: sampling.frequencyPenalty,
    presencePenalty: sampling.presencePenalty,
    candidateCount: sampling.choiceCount,
  });
}

/** Models that speak refuse settings of thinking: https://ai.google.dev/gemini-api/docs/speech-generation */
function renderAudioOutput({ voice, format, hasText, speechConfig }: AudioOutput, isStreamed: boolean): JsonObject {
  const offered = isStreamed ? ['pcm16'] : ['wav', 'pcm16'];
  if (!offered.includes(format)) throw badRequest(`"audio.format" must be one of: [${offered.join(' ')}]`);
  if (typeof voice === 'object') throw badRequest('"audio.voice" must be the name of a voice for this model');
  const named = { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } };
  return compact({
    responseModalities: hasText === true ? ['TEXT', 'AUDIO'] : ['AUDIO'],
    speechConfig: speechConfig ?? (voice === undefined ? undefined : named),
  });
}

function renderTurn(turn: Turn): JsonObject[] {
  const parts = renderParts(turn);
  return parts.length === 0 ? [] : [{ role: turn.role === 'assistant' ? 'model' : 'user', parts }];
}

function renderParts(turn: Turn): JsonObject[] {
  if (turn.role === 'assistant') return renderAnswer(turn.parts);
  if (turn.role === 'tool') return turn.parts.map(renderResult);
  return turn.parts.flatMap((part) => (part.type === 'text' ? renderText(part.text) : [renderMedia(part)]));
}

function renderText(text: string): JsonObject[] {
  return text === '' ? [] : [{ text }];
}

/**
 * Omits reasoning: the models only need the signatures of their calls back, which clients of some formats keep as
 * reasoning without text. Only the first call of an answer has to have a signature.
 */
function renderAnswer(parts: readonly AssistantPart[]): JsonObject[] {
  const firstCall = parts.find((part) => part.type === 'tool-call');
  const hidden = parts.filter((part) => part.type === 'reasoning').filter(({ redacted }) => redacted === true);
  const kept = hidden.find(({ signature }) => signature !== undefined)?.signature;
  return parts.flatMap((part) => {
    if (part.type === 'text') return renderText(part.text);
    if (part.type === 'reasoning') return [];
    if (part.type === 'audio') return renderAudio(part);
    // Models of images check the signatures of their images, too.
    if (part.type === 'image') return [{ ...renderMedia(part), thoughtSignature: SKIP_SIGNATURE }];
    return [renderCall(part, part === firstCall ? (kept ?? SKIP_SIGNATURE) : undefined)];
  });
}

function renderAudio(part: AudioPart): JsonObject[] {
  const { data, mediaType } = part;
  return data === undefined ? renderText(transcriptOf(part).text) : [{ inlineData: { mimeType: mediaType, data } }];
}

function renderCall(call: ToolCallPart, signature: string | undefined): JsonObject {
  const functionCall = compact({ id: idToSend(call.callId), name: call.name, args: argumentsOf(call) });
  return compact({ functionCall, thoughtSignature: call.signature ?? signature });
}

function renderResult(result: ToolResultPart): JsonObject {
  const { callId, name, content, isError } = result;
  if (name === undefined) throw badRequest(`the tool result "${callId}" answers no tool call`);
  const attachments = content.filter((part): part is ImagePart | FilePart => part.type !== 'text');
  return {
    functionResponse: compact({
      id: idToSend(callId),
      name,
      response: { [isError === true ? 'error' : 'output']: textOf(result) },
      parts: attachments.length === 0 ? undefined : attachments.map(renderMedia),
    }),
  };
}

function idToSend(id: string): string | undefined {
  return isMintedCallId(id) ? undefined : id;
}

/** The choice is sent only with tools: without any, the upstream refuses it. */
function renderTools({ tools, toolChoice }: TextRequest, budget: SchemaSizeBudget): JsonObject {
  return compact({
    tools: [{ functionDeclarations: tools.map((tool) => renderTool(tool, budget)) }],
    toolConfig: toolChoice === undefined ? undefined : renderToolChoice(toolChoice),
  });
}

function renderTool({ name, description, parameters }: Tool, budget: SchemaSizeBudget): JsonObject {
  const schema = parameters === undefined ? undefined : { type: 'object', ...withoutReferences(parameters, budget) };
  return compact({ name, description, parametersJsonSchema: schema });
}

function renderToolChoice(choice: ToolChoice): JsonObject {
  if (choice.type === 'tool') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.name] } };
  }
  const modes = { auto: 'AUTO', required: 'ANY', none: 'NONE' } as const;
  return { functionCallingConfig: { mode: modes[choice.type] } };
}

function renderOutputFormat(format: OutputFormat, budget: SchemaSizeBudget): JsonObject {
  const schema = format.type === 'json-schema' ? format.schema : undefined;
  return compact({
    responseMimeType: 'application/json',
    responseJsonSchema: schema === undefined ? undefined : withoutReferences(schema, budget),
  });
}
