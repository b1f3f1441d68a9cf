/**
 * Fields of the format that vendors accept only with the header `anthropic-beta`
 * (https://platform.claude.com/docs/en/api/beta-headers). Header and fields reach a vendor together or not at all.
 */
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { UnusedFields } from '../canonical.ts';
import { compact } from '../read.ts';
import { mapItems } from '../map-json.ts';

/** Betas that change neither prices nor what the vendor stores or runs. */
const PASSED_ON =
  /^(advanced-tool-use|tool-search-tool|tool-examples|fine-grained-tool-streaming|prompt-caching-scope|extended-cache-ttl|context-management|interleaved-thinking|token-efficient-tools|effort|structured-outputs|claude-code|redact-thinking|thinking-display-updates)-\d{4,8}(-\d{2}-\d{2})?$/;

const MAX_BETAS = 20;

/** The betas of a client's header that are passed on. */
export function readBetas(header: string | readonly string[] | undefined): string[] {
  const names = [header ?? []].flat().flatMap((value) => value.split(','));
  return [...new Set(names.map((name) => name.trim()))].filter((name) => PASSED_ON.test(name)).slice(0, MAX_BETAS);
}

const TOOL_FIELDS = ['defer_loading', 'input_examples', 'eager_input_streaming', 'allowed_callers'];

/** Records of tools that the vendor ran. */
export const SERVER_BLOCKS = [
  'server_tool_use',
  'tool_search_tool_result',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
] as const;

/** The text for models that cannot resolve a reference to a tool. */
export function textOfToolReference(name: string): string {
  return `The tool ${name} can be called now.`;
}

/** The fields of a client's tool that need a beta; undefined if there are none. */
export function betaFieldsOf(tool: JsonObject): JsonObject | undefined {
  const sent = TOOL_FIELDS.filter((field) => tool[field] !== undefined);
  return sent.length === 0 ? undefined : Object.fromEntries(sent.map((field) => [field, tool[field]]));
}

/** The fields of tools in a body that need a beta; without one they have no effect. */
export function findBetaFields({ tools }: JsonObject, betas: readonly string[]): UnusedFields {
  const sent = listOf(tools).map(objectOf);
  const fields = TOOL_FIELDS.filter((field) => sent.some((tool) => tool[field] !== undefined));
  const names = fields.map((field) => `tools.${field}`);
  return betas.length === 0 ? { always: names, converted: [] } : { always: [], converted: names };
}

/** The records of searches, which need no beta. */
const SEARCH_BLOCKS: readonly unknown[] = ['server_tool_use', 'web_search_tool_result'];

/** A body without what a vendor accepts only with a beta. @param keepsSearches whether it keeps the records of searches */
export function withoutBetaFields(body: JsonObject, keepsSearches = false): JsonObject {
  const plain = mapItems(mapItems(body, 'tools', toolOf), 'system', withUsualScope);
  return mapItems(plain, 'messages', (message) => {
    const kept = mapItems(message, 'content', (block) =>
      keepsSearches && SEARCH_BLOCKS.includes(block['type']) ? block : blockOf(block),
    );
    const isEmpty = kept !== message && listOf(kept['content']).length === 0;
    return isEmpty ? null : kept;
  });
}

function toolOf(tool: JsonObject): JsonObject {
  if (!TOOL_FIELDS.some((field) => field in tool)) return withUsualScope(tool);
  return withUsualScope(Object.fromEntries(Object.entries(tool).filter(([field]) => !TOOL_FIELDS.includes(field))));
}

function blockOf(block: JsonObject): JsonObject | null {
  const { type } = block;
  if (SERVER_BLOCKS.some((known) => known === type)) return null;
  if (type === 'tool_reference') return { type: 'text', text: textOfToolReference(stringOf(block['tool_name'])) };
  return type === 'tool_result' ? mapItems(withUsualScope(block), 'content', blockOf) : withUsualScope(block);
}

function withUsualScope(block: JsonObject): JsonObject {
  const { cache_control: cache } = block;
  if (!isObject(cache) || !('scope' in cache)) return block;
  return { ...block, cache_control: compact({ ...cache, scope: undefined }) };
}
