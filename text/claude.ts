/**
 * The settings that Claude models refuse, by the model's name: how requests ask for thinking, and what they may have
 * beside it. All upstreams that sell these models have the same rules:
 * https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting
 */
import { isObject, type JsonObject } from '../domain/json.ts';
import type { ReasoningEffort, Sampling, Setting, TextRequest, Turn } from './canonical.ts';
import { compact } from './read.ts';
import { budgetOf, effortOf, requiresCall } from './reasoning.ts';
import { signaturesOf, withOwnSignatures } from './signatures.ts';
import { mergeNeighbours } from './turns.ts';
import type { UpstreamOptions } from './wire-format.ts';

interface Limits {
  /** The `type` of thinking that the model accepts: with a budget (`enabled`), or as much as an effort says. */
  readonly thinking: 'enabled' | 'adaptive' | 'any';
  readonly acceptsEffort: boolean;
  /** How many of `temperature`, `top_p` and `top_k` the model accepts: of the first two one, or all. */
  readonly variety: 'none' | 'one' | 'all';
  /** Whether the model thinks with a budget after a call only if the request has the thinking before the call. */
  readonly needsEarlierThinking: boolean;
  readonly canStopThinking: boolean;
  /** Whether a request may require a call. */
  readonly canForceCalls: boolean;
  /** Whether the model continues an answer at the end of the conversation. */
  readonly continuesAnswers: boolean;
}

type ModelNames = Pick<UpstreamOptions, 'model' | 'baseModel'>;

/** `claude-sonnet-4-5@20250929`, `eu.anthropic.claude-opus-4-6-v1`, `claude-3-7-sonnet-latest`. A date is no version. */
const VERSION = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i;

/** Names without a version, as of deployments, say nothing: such a model is assumed to accept everything. */
function limitsOf({ model, baseModel = model }: ModelNames): Limits {
  const [, major, minor = '0'] = VERSION.exec(baseModel) ?? [];
  if (major === undefined) {
    return {
      thinking: 'any',
      acceptsEffort: true,
      variety: 'all',
      needsEarlierThinking: false,
      canStopThinking: true,
      canForceCalls: true,
      continuesAnswers: true,
    };
  }
  const version = Number(major) * 100 + Number(minor);
  const isOpus45 = version === 405 && /opus/i.test(baseModel);
  // https://platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1
  const isFable = /fable|mythos/i.test(baseModel);
  return {
    thinking: version < 406 ? 'enabled' : version === 406 ? 'any' : 'adaptive',
    acceptsEffort: version >= 406 || isOpus45,
    variety: version < 401 ? 'all' : version <= 406 ? 'one' : 'none',
    needsEarlierThinking: version <= 406,
    canStopThinking: !isFable,
    canForceCalls: !isFable || version < 501,
    continuesAnswers: version < 406,
  };
}

/** The message of the user after an answer that the model would refuse to continue. */
const CONTINUE: Turn = { role: 'user', parts: [{ type: 'text', text: 'Continue.' }] };

export interface AcceptedRequest {
  readonly request: TextRequest;
  readonly omitted: readonly Setting[];
}

/** A request that leaves calls to a model that none can be required of, and ends with the user if the model demands it. */
export function acceptedRequest(request: TextRequest, options: ModelNames): AcceptedRequest {
  const { canForceCalls, continuesAnswers } = limitsOf(options);
  const isRefused = requiresCall(request) && !canForceCalls;
  const turns =
    continuesAnswers || request.turns.at(-1)?.role !== 'assistant' ? request.turns : [...request.turns, CONTINUE];
  return {
    request: { ...request, turns, ...(isRefused && { toolChoice: { type: 'auto' } }) },
    omitted: isRefused ? ['toolChoice'] : [],
  };
}

/** The format has nothing below `low`. */
const EFFORTS: Readonly<Record<Exclude<ReasoningEffort, 'none'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

const DISPLAYS = { text: 'summarized', signature: 'omitted', none: undefined } as const;

/** Upstreams refuse smaller budgets, and those that leave no room for the answer. */
const MIN_BUDGET = 1_024;

/** The effort of adaptive thinking without one. */
const DEFAULT_EFFORT = 'high';

export interface ClaudeReasoning {
  readonly thinking: JsonObject | undefined;
  readonly effort?: string | undefined;
  /** The effort, where the model accepts none and does not think for this request. */
  readonly omitted: readonly Setting[];
}

/**
 * The thinking and the effort of a request, as its model accepts them: contract 4.8:56.
 *
 * @param maxOutputTokens the bound of the answer, which includes the budget
 */
export function claudeReasoning(
  request: TextRequest,
  options: UpstreamOptions,
  maxOutputTokens: number,
): ClaudeReasoning {
  const { reasoningEffort, reasoningBudget: budget } = request;
  const { acceptsEffort, canStopThinking } = limitsOf(options);
  if (!canStopThinking && isWithoutThinking(request)) {
    const wanted = reasoningEffort === undefined || reasoningEffort === 'none' ? 'low' : reasoningEffort;
    return { thinking: undefined, effort: EFFORTS[wanted], omitted: [] };
  }
  const thinking = thinkingOf(request, options, maxOutputTokens);
  const effort = reasoningEffort ?? (thinking?.['type'] === 'adaptive' ? effortOf(budget) : undefined);
  if (effort === undefined || effort === 'none') return { thinking, omitted: [] };
  if (acceptsEffort) return { thinking, effort: EFFORTS[effort], omitted: [] };
  return { thinking, omitted: thinking === undefined && budget === undefined ? ['reasoningEffort'] : [] };
}

/**
 * The same for a client of the messages format, whose own fields stay as they are if the model accepts them.
 *
 * @param sent the client's `thinking` and `output_config.effort`
 */
export function forwardedReasoning(
  sent: { readonly thinking: unknown; readonly effort: unknown },
  request: TextRequest,
  options: UpstreamOptions,
  maxOutputTokens: number,
): ClaudeReasoning {
  const { thinking: accepted, acceptsEffort, needsEarlierThinking, canStopThinking } = limitsOf(options);
  const thinking = isObject(sent.thinking) ? sent.thinking : undefined;
  const type = thinking?.['type'];
  const isRefused =
    (accepted !== 'any' && type === (accepted === 'enabled' ? 'adaptive' : 'enabled')) ||
    (type === 'disabled' && !canStopThinking) ||
    // Other vendors of the format accept thinking without a budget.
    (type === 'enabled' && needsEarlierThinking && request.reasoningBudget === undefined);
  if (isRefused || (type === 'enabled' && needsEarlierThinking)) {
    const own = withOwnSignatures(request, signaturesOf(options.origin));
    if (isRefused || lacksThinking(own)) return claudeReasoning(own, options, maxOutputTokens);
  }
  if (sent.effort === undefined) return { thinking, omitted: [] };
  if (acceptsEffort) return { thinking, effort: request.reasoningEffort, omitted: [] };
  return { thinking, omitted: ['reasoningEffort'] };
}

function thinkingOf(request: TextRequest, options: UpstreamOptions, maxOutputTokens: number): JsonObject | undefined {
  const { reasoningEffort: effort, reasoningBudget: budget, reasoningDisplay } = request;
  if (isWithoutThinking(request)) return { type: 'disabled' };
  const { compatibility, reasons } = options;
  if (compatibility !== 'full' || reasons !== true || reasoningDisplay === 'none') return undefined;
  // Upstreams refuse to think before a call that is forced.
  if (requiresCall(request)) return undefined;
  const display = reasoningDisplay && DISPLAYS[reasoningDisplay];
  if (budget === undefined && effort === undefined && display === undefined) return undefined;
  const { thinking: accepted, needsEarlierThinking } = limitsOf(options);
  const isAdaptive = accepted === 'adaptive' || (accepted === 'any' && budget === undefined);
  if (isAdaptive) return compact({ type: 'adaptive', display });
  const most = maxOutputTokens - 1;
  if (most < MIN_BUDGET || (needsEarlierThinking && lacksThinking(request))) return undefined;
  const wanted = budget ?? budgetOf(effort ?? DEFAULT_EFFORT);
  return compact({ type: 'enabled', budget_tokens: Math.min(Math.max(wanted, MIN_BUDGET), most), display });
}

/** Whether the client wants an answer without thinking. */
function isWithoutThinking({ reasoningEffort, reasoningBudget }: TextRequest): boolean {
  return reasoningEffort === 'none' || reasoningBudget === 0;
}

/** Whether the latest calls come without the thinking before them: unsigned, or of another vendor. */
function lacksThinking({ turns }: TextRequest): boolean {
  const parts = mergeNeighbours(turns).findLast(({ role }) => role === 'assistant')?.parts ?? [];
  const isSigned = parts.some((part) => part.type === 'reasoning' && part.signature !== undefined);
  return !isSigned && parts.some(({ type }) => type === 'tool-call');
}

const VARIETY = ['temperature', 'topP', 'topK'] as const;

/** The settings that the model refuses beside each other, or at all: contract 4.8:55. Any of them beside thinking. */
export function refusedVariety(
  { temperature, topP }: Sampling,
  thinking: JsonObject | undefined,
  options: ModelNames,
): readonly Setting[] {
  const { variety } = limitsOf(options);
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled';
  if (isThinking || variety === 'none') return VARIETY;
  return variety === 'one' && temperature !== undefined && topP !== undefined ? ['topP'] : [];
}

/** The settings without the refused ones. Claude models take half the range of temperature of others. */
export function varietyOf(
  { temperature, topP, topK }: Sampling,
  refused: readonly Setting[],
): Pick<Sampling, (typeof VARIETY)[number]> {
  return {
    temperature: temperature === undefined || refused.includes('temperature') ? undefined : Math.min(temperature, 1),
    topP: refused.includes('topP') ? undefined : topP,
    topK: refused.includes('topK') ? undefined : topK,
  };
}
