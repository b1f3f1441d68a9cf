/** Bodies of agents as upstreams should get them: contract 4.8.3. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { mapItems } from '../map-json.ts';

/**
 * The line about itself with which Claude Code starts the system text: https://code.claude.com/docs/en/env-vars. Each request has
 * another one, so that no upstream would find the prompt in its cache.
 */
const ATTRIBUTION = /^x-anthropic-billing-header:.*(?:\n+|$)/;

/**
 * The body without the line, and with the vendor's summaries of earlier conversations as text, because Genway asks for none, and
 * without marks of fallbacks; any other body is returned as it is.
 */
export function adoptBody(body: JsonObject): JsonObject {
  return mapItems(withoutAttribution(body), 'messages', (message) =>
    message['role'] === 'assistant' ? mapItems(message, 'content', adoptBlock) : message,
  );
}

/** https://platform.claude.com/docs/en/build-with-claude/compaction */
function adoptBlock(block: JsonObject): JsonObject | null {
  const { type, content } = block;
  if (type === 'fallback') return null;
  if (type !== 'compaction') return block;
  return typeof content === 'string' && content.trim() !== '' ? { type: 'text', text: content } : null;
}

function withoutAttribution(body: JsonObject): JsonObject {
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
