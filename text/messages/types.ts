/** The shapes of the messages format that the gateway writes. */
import type { JsonObject } from '../../domain/json.ts';

export type MessagesBlock =
  | { readonly type: 'text'; readonly text: string }
  /** Not of the vendor's models; in the form in which clients send images. */
  | {
      readonly type: 'image';
      readonly source: { readonly type: 'base64'; readonly media_type: string; readonly data: string };
    }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly type: 'server_tool_use'; readonly id: string; readonly name: 'web_search'; readonly input: JsonObject }
  | {
      readonly type: 'web_search_tool_result';
      readonly tool_use_id: string;
      readonly content: readonly MessagesSearchResult[] | MessagesSearchError;
    };

export interface MessagesSearchResult {
  readonly type: 'web_search_result';
  readonly url: string;
  readonly title: string;
  readonly encrypted_content: string;
  readonly page_age: null;
}

interface MessagesSearchError {
  readonly type: 'web_search_tool_result_error';
  readonly error_code: string;
}

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
  readonly server_tool_use?: { readonly web_search_requests: number } | undefined;
}

export type MessagesStopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
