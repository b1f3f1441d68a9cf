/** The signatures of responses bodies: encrypted reasoning, and encrypted summaries of conversations. */
import type { JsonObject } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';
import { readSummary } from './compaction.ts';
import { COMPACTION_ITEMS } from './types.ts';
import { replaceText, type ReplaceSignature, type SignaturePlaces } from '../signatures.ts';

export const signaturePlaces: SignaturePlaces = {
  trait: /"encrypted_content"/,
  inRequest: (body, replace) => mapItems(body, 'input', (item) => itemOf(item, replace)),
  inAnswer: (answer, replace) => {
    const inItem = (item: JsonObject): JsonObject => itemOf(item, replace) ?? item;
    const inOutput = (response: JsonObject): JsonObject => mapItems(response, 'output', inItem);
    return inOutput(mapField(mapField(answer, 'item', inItem), 'response', inOutput));
  },
};

const SIGNED_ITEMS: ReadonlySet<unknown> = new Set(['reasoning', ...COMPACTION_ITEMS]);

function itemOf(item: JsonObject, replace: ReplaceSignature): JsonObject | null {
  const summary = readSummary(item);
  if (summary !== null) return { type: 'message', role: 'user', content: [{ type: 'input_text', text: summary }] };
  return SIGNED_ITEMS.has(item['type']) ? replaceText(item, 'encrypted_content', replace) : item;
}
