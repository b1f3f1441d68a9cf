/** The shapes of the responses format that the gateway writes. */
import type { JsonObject } from '../../domain/json.ts';
import type { AnswerPart } from '../canonical.ts';

export type ItemKind = AnswerPart['type'] | 'web-search' | 'image' | 'summary';

/** The prefixes of output items' ids, the same as at the format's original service. */
export const ITEM_ID_PREFIXES: Readonly<Record<ItemKind, string>> = {
  text: 'msg_',
  reasoning: 'rs_',
  'tool-call': 'fc_',
  'web-search': 'ws_',
  image: 'ig_',
  summary: 'cmp_',
};

/** The types of items that hold the vendor's encrypted summary of a conversation; Codex knows all three. */
export const COMPACTION_ITEMS = ['compaction', 'compaction_summary', 'context_compaction'] as const;

/** The events that end a stream with the whole response. */
export const RESPONSE_ENDS: readonly string[] = ['response.completed', 'response.incomplete'];

/** `incomplete`: the answer was cut while the item was being written. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface OutputText {
  readonly type: 'output_text';
  readonly annotations: readonly never[];
  readonly logprobs: readonly never[];
  readonly text: string;
}

export interface SummaryText {
  readonly type: 'summary_text';
  readonly text: string;
}

export interface MessageItem {
  readonly id: string;
  readonly type: 'message';
  readonly status: ItemStatus;
  readonly role: 'assistant';
  readonly content: readonly OutputText[];
}

export interface ReasoningItem {
  readonly id: string;
  readonly type: 'reasoning';
  readonly summary: readonly SummaryText[];
  readonly encrypted_content?: string | undefined;
}

export interface FunctionCallItem {
  readonly id: string;
  readonly type: 'function_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly arguments: string;
}

export interface CustomCallItem extends Omit<FunctionCallItem, 'type' | 'arguments'> {
  readonly type: 'custom_tool_call';
  readonly input: string;
}

export interface ToolSearchCallItem extends Omit<FunctionCallItem, 'type' | 'name' | 'namespace' | 'arguments'> {
  readonly type: 'tool_search_call';
  readonly execution: 'client';
  readonly arguments: JsonObject;
}

export interface WebSearchCallItem {
  readonly id: string;
  readonly type: 'web_search_call';
  readonly status: 'in_progress' | 'completed' | 'failed';
  readonly action: {
    readonly type: 'search';
    readonly query: string;
    readonly queries: readonly string[];
    readonly sources?: readonly { readonly type: 'url'; readonly url: string }[];
  };
}

/** An image of the model's own; the vendor's models make images by a tool. */
export interface ImageItem {
  readonly id: string;
  readonly type: 'image_generation_call';
  readonly status: 'in_progress' | 'completed';
  /** Base64. */
  readonly result: string | null;
}

export interface CompactionItem {
  readonly id: string;
  readonly type: 'compaction';
  readonly encrypted_content: string;
}

export type OutputItem =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | CustomCallItem
  | ToolSearchCallItem
  | WebSearchCallItem
  | ImageItem
  | CompactionItem;

export interface ResponseUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

export type IncompleteReason = 'max_output_tokens';
