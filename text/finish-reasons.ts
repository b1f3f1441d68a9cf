/**
 * How upstreams call the end of an answer. Vendors take words from each other's formats and add their own, so one table reads
 * those of all formats; in lower case.
 */
import type { FinishReason } from './canonical.ts';
import { cutShort } from './normalize.ts';
import { throwIfModerated, upstreamError } from './upstream-errors.ts';

/** What some upstreams write in place of null while an answer goes on. */
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

/** Reasons by which upstreams say that the model, or what it runs on, failed. */
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
  'missing_thought_signature',
  'too_many_tool_calls',
  'unexpected_tool_call',
]);

/** What a reason means; that the model was done, for one that is not known; null when the answer goes on. */
export function finishReasonOf(told: string): FinishReason | null {
  const reason = told.toLowerCase();
  if (UNFINISHED.has(reason)) return null;
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? 'stop') : 'stop';
}

/**
 * Checks the reason of an answer that has ended. One that is not known is no success without a text or a call.
 *
 * @param told empty when the upstream ended the answer without a reason
 * @throws ServiceError when the answer failed, was refused by moderation, or holds nothing that anybody could explain
 */
export function checkFinish(told: string, hasContent: boolean): void {
  throwIfModerated(told);
  const reason = told.toLowerCase();
  if (FAILURES.has(reason)) throw upstreamError(null, []);
  if (hasContent) return;
  if (UNFINISHED.has(reason)) throw cutShort();
  if (!Object.hasOwn(REASONS, reason)) throw upstreamError(null, []);
}
