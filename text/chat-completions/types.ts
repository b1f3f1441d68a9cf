/** The shapes of chat completions that the gateway writes. */
import type { JsonObject } from '../../domain/json.ts';

interface CallHead {
  readonly id: string;
  /** A signature, as Google's service has it. */
  readonly extra_content?: JsonObject;
}

export interface ChatFunctionToolCall extends CallHead {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The call of a tool that takes free text. */
export interface ChatCustomToolCall extends CallHead {
  readonly type: 'custom';
  readonly custom: { readonly name: string; readonly input: string };
}

export type ChatToolCall = ChatFunctionToolCall | ChatCustomToolCall;

/** A call, for clients that use `functions`. */
export type ChatFunctionCall = ChatFunctionToolCall['function'];

export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: {
    readonly cached_tokens?: number;
    readonly cache_write_tokens?: number;
    readonly audio_tokens?: number;
  };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number; readonly audio_tokens?: number };
}

/** `function_call` takes the place of `tool_calls` for clients that use `functions`. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls' | 'function_call';
