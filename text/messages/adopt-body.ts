/** Bodies of agents as upstreams should get them: contract 4.8.3. */
import { isObject, type JsonObject } from '../../domain/json.ts';

/**
 * The line about itself with which Claude Code starts the system text: https://code.claude.com/docs/en/env-vars. Each request has
 * another one, so that no upstream would find the prompt in its cache.
 */
const ATTRIBUTION = /^x-anthropic-billing-header:.*(?:\n+|$)/;

/** The body without the line; any other body is returned as it is. */
export function adoptBody(body: JsonObject): JsonObject {
  const { system } = body;
  if (typeof system === 'string') return ATTRIBUTION.test(system) ? { ...body, system: withoutLine(system) } : body;
  const [first, ...others] = Array.isArray(system) ? system : [];
  if (!isObject(first) || typeof first['text'] !== 'string' || !ATTRIBUTION.test(first['text'])) return body;
  const text = withoutLine(first['text']);
  return { ...body, system: text === '' ? others : [{ ...first, text }, ...others] };
}

function withoutLine(text: string): string {
  return text.replace(ATTRIBUTION, '');
}
