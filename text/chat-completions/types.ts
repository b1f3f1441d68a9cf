/** The shapes of chat completions that the gateway writes, and tables of the fields that it reads. */
import { refused, type FieldTable } from '../fields.ts';

/** The fields of contract 4.8.1, and the format's other standard fields, which have no effect. */
export const REQUEST_FIELDS: FieldTable = {
  model: 'mapped',
  messages: 'mapped',
  max_tokens: 'mapped',
  max_completion_tokens: 'mapped',
  stream: 'mapped',
  stream_options: 'mapped',
  temperature: 'mapped',
  top_p: 'mapped',
  top_k: 'mapped',
  stop: 'mapped',
  tools: 'mapped',
  tool_choice: 'mapped',
  parallel_tool_calls: 'mapped',
  n: 'mapped',
  seed: 'mapped',
  frequency_penalty: 'mapped',
  presence_penalty: 'mapped',
  response_format: 'mapped',
  reasoning_effort: 'mapped',
  verbosity: 'mapped',
  user: 'mapped',
  modalities: 'mapped',
  logit_bias: 'ignored',
  logprobs: 'ignored',
  top_logprobs: 'ignored',
  metadata: 'ignored',
  moderation: 'ignored',
  prediction: 'ignored',
  prompt_cache_key: 'ignored',
  prompt_cache_options: 'ignored',
  prompt_cache_retention: 'ignored',
  safety_identifier: 'ignored',
  service_tier: 'ignored',
  store: 'ignored',
  // Not standard, but sent by many clients of compatible services.
  chat_template_kwargs: 'ignored',
  enable_thinking: 'ignored',
  min_p: 'ignored',
  reasoning: 'ignored',
  reasoning_split: 'ignored',
  repetition_penalty: 'ignored',
  thinking: 'ignored',
  // Without effect, unless the route passes them on.
  audio: 'mapped',
  web_search_options: 'mapped',
  // The older names of tools and their choice.
  functions: 'mapped',
  function_call: 'mapped',
};

/** Fields of a message. Clients send answers back as they got them, so unknown fields have no effect. */
export const MESSAGE_FIELDS: FieldTable = {
  role: 'mapped',
  content: 'mapped',
  reasoning_content: 'mapped',
  reasoning: 'mapped',
  refusal: 'mapped',
  tool_calls: 'mapped',
  tool_call_id: 'mapped',
  name: 'mapped',
  annotations: 'ignored',
  audio: refused('the models take text, images and files only'),
  function_call: 'mapped',
};

export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
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
