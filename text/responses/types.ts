/** The shapes of the responses format that the gateway writes, and a table of the fields that it reads. */
import type { AnswerPart } from '../canonical.ts';
import { refused, type FieldTable } from '../fields.ts';

/** The most output tokens that a request may ask for: contract 4.8.2. */
export const MAXIMUM_OUTPUT_TOKENS = 1_073_741_823;

const STATELESS = 'answers are not stored; send the whole conversation in "input"';

/** The fields of contract 4.8.2, and the format's other standard fields, which have no effect. */
export const REQUEST_FIELDS: FieldTable = {
  model: 'mapped',
  input: 'mapped',
  instructions: 'mapped',
  max_output_tokens: 'mapped',
  stream: 'mapped',
  temperature: 'mapped',
  top_p: 'mapped',
  tools: 'mapped',
  tool_choice: 'mapped',
  parallel_tool_calls: 'mapped',
  reasoning: 'mapped',
  text: 'mapped',
  user: 'mapped',
  background: 'mapped',
  include: 'ignored',
  max_tool_calls: 'ignored',
  metadata: 'mapped',
  moderation: 'ignored',
  prompt_cache_key: 'ignored',
  prompt_cache_options: 'ignored',
  prompt_cache_retention: 'ignored',
  safety_identifier: 'ignored',
  service_tier: 'ignored',
  store: 'ignored',
  stream_options: 'ignored',
  top_logprobs: 'ignored',
  truncation: 'ignored',
  // Not standard, but sent by a widely used client.
  client_metadata: 'ignored',
  previous_response_id: refused(STATELESS),
  conversation: refused(STATELESS),
  prompt: refused('prompt templates are not stored; send "instructions" and "input"'),
  context_management: refused('shorten the conversation in "input" yourself'),
};

/** The prefixes of output items' ids, the same as at the format's original service. */
export const ITEM_ID_PREFIXES: Readonly<Record<AnswerPart['type'], string>> = {
  text: 'msg_',
  reasoning: 'rs_',
  'tool-call': 'fc_',
};

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
  readonly arguments: string;
}

export type OutputItem = MessageItem | ReasoningItem | FunctionCallItem;

export interface ResponseUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

export type IncompleteReason = 'max_output_tokens';
