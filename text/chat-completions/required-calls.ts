/**
 * Calls that a request requires of models that refuse them while they think, which these models do by default:
 * https://github.com/deepseek-ai/DeepSeek-V3/issues/1376, https://github.com/can1357/oh-my-pi/issues/1077
 */
import type { JsonObject } from '../../domain/json.ts';
import type { Setting, TextRequest } from '../canonical.ts';
import { requiresCall } from '../reasoning.ts';
import type { UpstreamOptions } from '../wire-format.ts';

/** By their names at the upstream. */
const REFUSE_REQUIRED_CALLS = /deepseek|kimi(?!-k3)/i;

export interface CallReasoning {
  /** The fields of the upstream's body. */
  readonly fields: JsonObject;
  readonly omitted: readonly Setting[];
}

/** The reasoning of a request, which such a model does without before a required call. */
export function reasoningBeforeCall(
  request: TextRequest,
  { model, baseModel = model, reasons = false }: UpstreamOptions,
): CallReasoning {
  const { reasoningEffort } = request;
  if (!reasons || !REFUSE_REQUIRED_CALLS.test(baseModel) || !requiresCall(request))
    return { fields: { reasoning_effort: reasoningEffort }, omitted: [] };
  return { fields: { reasoning_effort: undefined, thinking: { type: 'disabled' } }, omitted: ['reasoningEffort'] };
}
