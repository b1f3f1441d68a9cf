/** The shapes of the messages format that the gateway writes. */
import type { JsonObject } from '../../domain/json.ts';

export type MessagesBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: JsonObject };

export interface MessagesUsage {
  /** Without tokens that were read from or written to a cache. */
  readonly input_tokens: number;
  readonly cache_creation_input_tokens?: number | undefined;
  /** The same, by the lifetime of the entry. */
  readonly cache_creation?:
    | { readonly ephemeral_5m_input_tokens: number; readonly ephemeral_1h_input_tokens: number }
    | undefined;
  readonly cache_read_input_tokens?: number | undefined;
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly thinking_tokens: number } | undefined;
}

export type MessagesStopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
