/** A canonical request as a native body. */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import type {
  AnswerPart,
  FilePart,
  ImagePart,
  OutputFormat,
  ReasoningEffort,
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
import { argumentsOf, checkArguments, hoistSystem, mergeNeighbours, pairToolResults, textOf } from '../turns.ts';
import { arrayOf } from '../upstream-errors.ts';
import type { ForwardedRequest, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';
import { renderMedia } from './media.ts';
import { camelCased } from './names.ts';
import { createSchemaSizeBudget, withoutReferences, type SchemaSizeBudget } from './schema.ts';
import { SKIP_SIGNATURE } from './signatures.ts';

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
      thinkingConfig: renderThinking(request),
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
  const functions = arrayOf(tools).flatMap((tool) => {
    const declarations = isObject(tool) ? camelCased(tool)['functionDeclarations'] : undefined;
    return arrayOf(declarations);
  });
  const forwarded = compact({
    contents,
    systemInstruction: systemInstruction ?? undefined,
    tools: functions.length === 0 ? undefined : [{ functionDeclarations: functions }],
    toolConfig: isFull && functions.length > 0 && isObject(toolConfig) ? toolConfig : undefined,
    generationConfig: {
      ...(isFull && isObject(generationConfig) && settingsBesides(generationConfig, options)),
      ...renderSampling(request.sampling),
    },
  });
  return { ...addressOf(request, options), body: forwarded };
}

/** The client's own form of the thinking and of the answer's schema, which the canonical model simplifies. */
function settingsBesides(config: JsonObject, { reasons }: UpstreamOptions): JsonObject {
  const { thinkingConfig, responseMimeType, responseSchema, responseJsonSchema, _responseJsonSchema } =
    camelCased(config);
  return compact({
    thinkingConfig: reasons === true ? thinkingConfig : undefined,
    responseMimeType,
    responseSchema,
    responseJsonSchema,
    _responseJsonSchema,
  });
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

/** The levels that all thinking models have; thinking cannot be turned off. */
const THINKING_LEVELS: Readonly<Record<ReasoningEffort, 'low' | 'medium' | 'high'>> = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
};

/** Asks for the text of the thinking, because the other formats show it. Upstreams refuse a level beside a budget. */
function renderThinking({ reasoningEffort: effort, reasoningBudget: thinkingBudget }: TextRequest): JsonObject {
  const hasLevel = effort !== undefined && thinkingBudget === undefined;
  return compact({
    includeThoughts: true,
    thinkingLevel: hasLevel ? THINKING_LEVELS[effort] : undefined,
    thinkingBudget,
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
function renderAnswer(parts: readonly AnswerPart[]): JsonObject[] {
  const firstCall = parts.find((part) => part.type === 'tool-call');
  const hidden = parts.filter((part) => part.type === 'reasoning').filter(({ redacted }) => redacted === true);
  const kept = hidden.find(({ signature }) => signature !== undefined)?.signature;
  return parts.flatMap((part) => {
    if (part.type === 'text') return renderText(part.text);
    if (part.type === 'reasoning') return [];
    return [renderCall(part, part === firstCall ? (kept ?? SKIP_SIGNATURE) : undefined)];
  });
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
