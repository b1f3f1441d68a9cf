/** Counts input tokens with the vendor's own endpoint, which accepts some of the fields of a request. */
import { countOf, objectOf } from '../domain/json.ts';
import type { InputCount } from './wire-format.ts';

/** @param path of the call, beside that for answers */
export function countWith(path: string, fields: readonly string[]): InputCount {
  return {
    request: ({ headers, body }) => {
      const taken = Object.entries(body).filter(([name]) => fields.includes(name));
      return { path, headers, body: Object.fromEntries(taken) };
    },
    // Bedrock has its own name.
    read: (answer) => countOf(objectOf(answer)['input_tokens'] ?? objectOf(answer)['inputTokens']),
  };
}
