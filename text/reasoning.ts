/** How much a model reasons, and what of it an answer shows. Formats bound it by an effort, or by a budget in tokens. */
import type { JsonObject } from '../domain/json.ts';
import { REASONING_EFFORTS, type ReasoningEffort, type StreamEvent, type TextRequest } from './canonical.ts';
import type { Stage } from './stage.ts';

/** The budgets up to which an effort is the nearest, in tokens. */
const EFFORT_BUDGETS: readonly (readonly [effort: ReasoningEffort, budget: number])[] = [
  ['none', 0],
  ['low', 4_096],
  ['medium', 16_384],
  ['high', 32_768],
];

/** The reasoning of a model: whether the model reasons, and its efforts; none where it does not restrict them. */
export interface ReasoningOffer {
  readonly reasoning: boolean;
  readonly reasoningEfforts: readonly string[];
}

/** The request with an effort that its model offers: the nearest to its own, or to its budget. */
export function withOfferedEffort(request: TextRequest, { reasoning, reasoningEfforts }: ReasoningOffer): TextRequest {
  const wanted = request.reasoningEffort ?? effortOf(request.reasoningBudget);
  if (wanted === undefined) return request;
  if (!reasoning) return { ...request, reasoningEffort: undefined, reasoningBudget: undefined };
  const reasoningEffort = nearestEffort(wanted, reasoningEfforts);
  return reasoningEffort === request.reasoningEffort ? request : { ...request, reasoningEffort };
}

/** The efforts of models that have three, and cannot turn reasoning off. */
export const THREE_EFFORTS: Readonly<Record<ReasoningEffort, 'low' | 'medium' | 'high'>> = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
};

/**
 * Settings with the effort that models know. With `ultra`, Codex also divides its work among agents of its own; models know `max`:
 * https://github.com/diegosouzapw/OmniRoute/issues/9947
 */
export function withKnownEffort(settings: JsonObject, field: string): JsonObject {
  return settings[field] === 'ultra' ? { ...settings, [field]: 'max' } : settings;
}

/** Whether a request requires a call, before which models of several vendors refuse to reason. */
export function requiresCall({ tools, toolChoice }: TextRequest): boolean {
  return tools.length > 0 && (toolChoice?.type === 'required' || toolChoice?.type === 'tool');
}

/** The effort that is the nearest to a budget. */
export function effortOf(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined) return undefined;
  return EFFORT_BUDGETS.find(([, most]) => budget <= most)?.[0] ?? 'high';
}

/** The budget of an effort, or of the nearest that has one. */
export function budgetOf(effort: ReasoningEffort): number {
  const nearest = nearestEffort(
    effort,
    EFFORT_BUDGETS.map(([name]) => name),
  );
  return EFFORT_BUDGETS.find(([name]) => name === nearest)?.[1] ?? 0;
}

/** The higher one of two that are equally near, so that a model reasons when a request asks for reasoning. */
function nearestEffort(wanted: ReasoningEffort, offered: readonly string[]): ReasoningEffort {
  const candidates = REASONING_EFFORTS.filter((effort) => offered.length === 0 || offered.includes(effort));
  const distance = (effort: ReasoningEffort): number =>
    Math.abs(REASONING_EFFORTS.indexOf(effort) - REASONING_EFFORTS.indexOf(wanted));
  return candidates.reduce(
    (near, effort) => (distance(effort) <= distance(near) ? effort : near),
    candidates[0] ?? wanted,
  );
}

/** Removes from an answer the reasoning that the request does not ask for: all of it, or the text beside signatures. */
export function showReasoning({ reasoningDisplay }: TextRequest): Stage<StreamEvent, StreamEvent> | null {
  if (reasoningDisplay === undefined || reasoningDisplay === 'text') return null;
  const isHidden = (event: StreamEvent): boolean =>
    reasoningDisplay === 'none' ? event.type.startsWith('reasoning-') : event.type === 'reasoning-delta';
  return {
    push: (event, emit) => {
      if (!isHidden(event)) emit(event);
    },
    end: () => {},
  };
}
