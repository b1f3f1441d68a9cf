/** Settings and parts with the same fields in several formats. */
import { CACHE_LIFETIMES, type CacheBreakpoint, REASONING_EFFORTS, type TextPart } from './canonical.ts';
import { type ReaderSelector, object } from './fields.ts';
import {
  compact,
  described,
  integerBetween,
  mapped,
  named,
  numberBetween,
  oneOf,
  optional,
  readBoolean,
  readObject,
  readString,
} from './read.ts';

export const TEMPERATURE = described(numberBetween(0, 2), 'Change this or `top_p`, not both');
export const TOP_P = described(numberBetween(0, 1), 'Change this or `temperature`, not both');
export const TOP_K = integerBetween(0, null);
export const PENALTY = numberBetween(-2, 2);
export const STREAM = described(readBoolean, 'Whether to answer with `text/event-stream`');
export const EFFORT = described(oneOf(REASONING_EFFORTS), 'Supported values depend on the model');
export const VERBOSITY = oneOf(['low', 'medium', 'high']);
export const JSON_SCHEMA = named('JsonSchema', described(readObject, 'A JSON Schema'));

const LIFETIME = described(
  oneOf(CACHE_LIFETIMES),
  'The cache lifetime. By default, and always on models with the compatibility `specification`, `5m`',
);
const CACHE_CONTROL = described(
  object({ ttl: optional(LIFETIME) }, ({ ttl }): CacheBreakpoint => compact({ ttl })),
  '`{"type": "ephemeral"}` caches the prompt up to this part',
);
const USUAL_CACHE_CONTROL = mapped(readObject, (): CacheBreakpoint => ({}));

/** The field that marks the end of a prefix for the cache of upstreams that have such marks. */
export function cacheMarks(select: ReaderSelector) {
  return { cache_control: select(optional(CACHE_CONTROL), optional(USUAL_CACHE_CONTROL)) };
}

/** The fields of an object that can be marked. */
export type CacheMarks = ReturnType<typeof cacheMarks>;

export const textPartOf = (marks: CacheMarks) =>
  object({ ...marks, text: readString }, ({ text, cache_control: cacheBreakpoint }): TextPart =>
    compact({ type: 'text', text, cacheBreakpoint }),
  );

export const readRefusal = object({ refusal: readString }, ({ refusal }): TextPart => ({
  type: 'text',
  text: refusal,
}));

/** For formats with a limit of their own: contract 4.8.2 and 4.8.4. */
export const MAX_OUTPUT_TOKENS = 1_073_741_823;

/** @param most null for the largest exact number */
export function outputTokens(most: number | null = null) {
  return described(integerBetween(1, most), 'Limits generated tokens, reasoning included');
}
