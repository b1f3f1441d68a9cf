/** The shapes of the messages format that the gateway writes, and a table of the fields that it reads. */
import type { JsonObject } from '../../domain/json.ts';
import { refused, type FieldTable } from '../fields.ts';

/** The fields of contract 4.8.3, and the format's other standard fields, which have no effect. */
export const REQUEST_FIELDS: FieldTable = {
  model: 'mapped',
  max_tokens: 'mapped',
  messages: 'mapped',
  system: 'mapped',
  stream: 'mapped',
  temperature: 'mapped',
  top_p: 'mapped',
  top_k: 'mapped',
  stop_sequences: 'mapped',
  tools: 'mapped',
  tool_choice: 'mapped',
  output_config: 'mapped',
  metadata: 'mapped',
  thinking: 'ignored',
  cache_control: 'ignored',
  context_management: 'ignored',
  diagnostics: 'ignored',
  service_tier: 'ignored',
  speed: 'ignored',
  user_profile_id: 'ignored',
  workspace_id: 'ignored',
  container: refused('hosted tools and skills are not offered; send tools with a name and an input_schema'),
  inference_geo: refused('the place of processing cannot be chosen'),
  mcp_servers: refused('hosted tools are not offered; send tools with a name and an input_schema'),
  output_format: refused('send "output_config.format" instead'),
};

export type MessagesBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: JsonObject };

export interface MessagesUsage {
  /** Without tokens that were read from or written to a cache. */
  readonly input_tokens: number;
  readonly cache_creation_input_tokens?: number | undefined;
  readonly cache_read_input_tokens?: number | undefined;
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly thinking_tokens: number } | undefined;
}

export type MessagesStopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
