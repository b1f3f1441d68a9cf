/** A canonical answer as a chat.completion object: contract 4.8.1. */
import type { JsonObject } from '../../domain/json.ts';
import type { AnswerPart, Choice, FinishReason, TextRequest, TextResult, ToolCallPart, Usage } from '../canonical.ts';
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

function renderChoice({ parts, finish }: Choice, index: number, context: RenderContext): JsonObject {
  const calls = parts.filter((part) => part.type === 'tool-call');
  const text = joined(parts, 'text');
  const reasoning = joined(parts, 'reasoning');
  return {
    index,
    message: compact({
      role: 'assistant',
      // Null only beside tool calls: without any text it is empty, also when reasoning took the whole budget.
      content: text === '' && calls.length > 0 ? null : text,
      reasoning_content: reasoning === '' ? undefined : reasoning,
      ...renderCalls(calls, context),
    }),
    logprobs: null,
    finish_reason: finishReasonFor(finish.reason, context),
  };
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
  const { cacheRead, cacheWrite, reasoning } = usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cacheRead === null && cacheWrite === null
      ? {}
      : {
          prompt_tokens_details: {
            ...(cacheRead === null ? {} : { cached_tokens: cacheRead }),
            ...(cacheWrite === null ? {} : { cache_write_tokens: cacheWrite }),
          },
        }),
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
