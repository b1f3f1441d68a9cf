/** Settings with the same name in several formats. */
import { REASONING_EFFORTS } from './canonical.ts';
import {
  described,
  integerBetween,
  mapped,
  named,
  numberBetween,
  oneOf,
  optional,
  readBoolean,
  readObject,
} from './read.ts';

export const TEMPERATURE = described(numberBetween(0, 2), 'Change this or `top_p`, not both');
export const TOP_P = described(numberBetween(0, 1), 'Change this or `temperature`, not both');
export const TOP_K = integerBetween(0, null);
export const PENALTY = numberBetween(-2, 2);
export const STREAM = described(readBoolean, 'Whether to answer with `text/event-stream`');
export const EFFORT = described(oneOf(REASONING_EFFORTS), 'Supported values depend on the model');
export const VERBOSITY = oneOf(['low', 'medium', 'high']);
export const JSON_SCHEMA = named('JsonSchema', described(readObject, 'A JSON Schema'));

/** Marks the end of a prefix that upstreams with such marks keep in their cache, for the usual lifetime. */
export const CACHE_CONTROL = optional(
  mapped(
    described(readObject, '`{"type": "ephemeral"}`: the prompt up to here should be kept in the cache'),
    () => true as const,
  ),
);

/** For formats with a limit of their own: contract 4.8.2 and 4.8.4. */
export const MAX_OUTPUT_TOKENS = 1_073_741_823;

/** @param most null for the largest exact number */
export function outputTokens(most: number | null = null) {
  return described(integerBetween(1, most), 'Limits generated tokens, reasoning included');
}
