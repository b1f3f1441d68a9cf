/** The shapes of chat completions that the gateway writes. */
import type { JsonObject } from '../../domain/json.ts';

export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  /** A signature, as Google's service has it. */
  readonly extra_content?: JsonObject;
}

/** A call, for clients that use `functions`. */
export type ChatFunctionCall = ChatToolCall['function'];

export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

/** `function_call` takes the place of `tool_calls` for clients that use `functions`. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls' | 'function_call';
