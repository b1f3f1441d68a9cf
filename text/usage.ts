/** Usage as upstreams report it. Upstreams differ in the names of cached tokens, and in which counts include which. */
import { countOf, isObject, type JsonObject, objectOf } from '../domain/json.ts';
import type { Usage } from './canonical.ts';

/** Counts as reported; null where there is none. */
export interface ReportedCounts extends Omit<Usage, 'inputTotal' | 'outputTotal'> {
  readonly input: number | null;
  readonly output: number | null;
  readonly total: number | null;
}

const INPUT_FIELDS = ['prompt_tokens', 'input_tokens'];
const OUTPUT_FIELDS = ['completion_tokens', 'output_tokens'];
const INPUT_DETAILS = [
  'prompt_tokens_details',
  'prompt_token_details',
  'input_tokens_details',
  'input_token_details',
] as const;
const OUTPUT_DETAILS = [
  'completion_tokens_details',
  'completion_token_details',
  'output_tokens_details',
  'output_token_details',
] as const;
const AUDIO_FIELDS = ['audio_tokens'];
/** Of Perplexity, and of relays that report the usage of messages. */
const WEB_SEARCH_FIELDS = ['num_search_queries', 'web_search_requests'];
const CACHE_READ_FIELDS = [
  'cached_tokens',
  'num_cached_tokens',
  'cache_read_tokens',
  'cached_read_tokens',
  'cache_read_input_tokens',
  'prompt_cache_hit_tokens',
];
const CACHE_WRITE_FIELDS = [
  'cache_write_tokens',
  'cached_write_tokens',
  'cache_creation_tokens',
  'cached_creation_tokens',
  'cache_creation_input_tokens',
  'prompt_cache_write_tokens',
];

/** The usage in an answer in the chat-completions or responses format. */
export function readUsage(usage: JsonObject): Usage {
  const inputDetails = INPUT_DETAILS.map((name) => usage[name]).filter(isObject);
  const inputs = [usage, ...inputDetails];
  // Of realtime sessions: https://platform.openai.com/docs/guides/realtime-costs
  const cachedDetails = inputDetails.map((details) => details['cached_tokens_details']).filter(isObject);
  const outputDetails = OUTPUT_DETAILS.map((name) => usage[name]).filter(isObject);
  const outputs = [usage, ...outputDetails];
  return settleUsage({
    input: highest([usage], INPUT_FIELDS),
    cacheRead: highest(inputs, CACHE_READ_FIELDS),
    cacheWrite: highest(inputs, CACHE_WRITE_FIELDS),
    cacheWrite1h: highest(inputs.map(writtenByLifetime), ['ephemeral_1h_input_tokens']),
    output: highest([usage], OUTPUT_FIELDS),
    reasoning: highest(outputs, ['reasoning_tokens']),
    audioInput: highest(inputDetails, AUDIO_FIELDS),
    audioCacheRead: highest(cachedDetails, AUDIO_FIELDS),
    audioOutput: highest(outputDetails, AUDIO_FIELDS),
    webSearches: highest([usage, objectOf(usage['server_tool_use'])], WEB_SEARCH_FIELDS),
    total: countOf(usage['total_tokens']),
  });
}

/** Tokens written to a cache, by the lifetime of the entry. */
function writtenByLifetime(usage: JsonObject): JsonObject {
  return objectOf(usage['cache_creation'] ?? usage['cache_creation_token_details']);
}

/** The highest count under any of the names: a count that is reported twice is often 0 in the unused place. */
function highest(objects: readonly JsonObject[], names: readonly string[]): number | null {
  let most: number | null = null;
  for (const object of objects) {
    for (const name of names) {
      const count = countOf(object[name]);
      if (count !== null && (most === null || count > most)) most = count;
    }
  }
  return most;
}

/**
 * Usage with cached tokens included in the input, and reasoning included in the output. If either is larger than what
 * should include it, it was reported separately. The total helps, too: what it has beyond the input is output, which
 * reveals reasoning that is only in the total, unless the difference is just what was cached. A total that is the input
 * and the output alone shows that tokens reported as both read and written were counted twice.
 */
export function settleUsage(counts: ReportedCounts): Usage {
  const { input, output, total, ...parts } = counts;
  const { cacheRead, cacheWrite, cacheWrite1h, reasoning } = parts;
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0);
  const beyondInput = total === null || input === null ? null : total - input;
  const isCachedInTotal = cached > 0 && cached !== reasoning && beyondInput === (output ?? 0) + cached;
  const mostInside = beyondInput === (output ?? 0) ? Math.max(cacheRead ?? 0, cacheWrite ?? 0) : cached;
  const isBeside = input !== null && (mostInside > input || isCachedInTotal);
  const rest = beyondInput !== null && isBeside ? beyondInput - cached : beyondInput;
  const reported = rest === null || rest < 0 ? output : Math.max(rest, output ?? 0);
  const room = input === null || isBeside ? null : input - (cacheRead ?? 0);
  const written = cacheWrite === null || room === null ? cacheWrite : Math.min(cacheWrite, room);
  return {
    ...parts,
    inputTotal: isBeside ? input + cached : input,
    cacheWrite: written,
    cacheWrite1h: cacheWrite1h && Math.min(cacheWrite1h, written ?? 0),
    outputTotal: reasoning !== null && reasoning > (reported ?? 0) ? (reported ?? 0) + reasoning : reported,
  };
}
