/**
 * Upstreams' names for how an answer ended. Vendors borrow words from each other's formats and add their own, so one
 * table, in lower case, covers all formats.
 */
import type { FinishReason } from './canonical.ts';
import { cutShort } from './normalize.ts';
import { throwIfModerated, upstreamError } from './upstream-errors.ts';

/** The values that some upstreams write instead of null while an answer is not finished. */
const UNFINISHED = new Set(['', 'null', 'none', 'finish_reason_unspecified', 'unspecified', 'in_progress']);

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  pause_turn: 'stop',
  stop_sequence: 'stop',
  completed: 'stop',
  complete: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  max_completion_tokens: 'length',
  max_length: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  tool_calls: 'tool-calls',
  tool_call: 'tool-calls',
  tool_use: 'tool-calls',
  function_call: 'tool-calls',
};

/** Reasons that mean that the model, or what it runs on, failed. */
const FAILURES = new Set([
  'error',
  'failed',
  'network_error',
  'insufficient_system_resource',
  'overloaded',
  'timeout',
  'abort',
  'aborted',
  'cancelled',
  'malformed_function_call',
  'malformed_response',
  'malformed_model_output',
  'malformed_tool_use',
  'missing_thought_signature',
  'too_many_tool_calls',
  'unexpected_tool_call',
]);

/** Returns the canonical reason; null while the answer is not finished. An unknown reason counts as `stop`. */
export function finishReasonOf(reported: string): FinishReason | null {
  const reason = reported.toLowerCase();
  if (UNFINISHED.has(reason)) return null;
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? 'stop') : 'stop';
}

/**
 * Checks the reason of an answer that has ended. An unknown reason without any text or call is not a success.
 *
 * @param reported empty when the upstream gave no reason
 * @throws ServiceError when the answer failed, was refused by moderation, or is inexplicably empty
 */
export function checkFinish(reported: string, hasContent: boolean): void {
  throwIfModerated(reported);
  const reason = reported.toLowerCase();
  if (FAILURES.has(reason)) throw upstreamError(null, []);
  if (hasContent) return;
  if (UNFINISHED.has(reason)) throw cutShort();
  if (!Object.hasOwn(REASONS, reason)) throw upstreamError(null, []);
}
