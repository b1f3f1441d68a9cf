/** The signatures of responses bodies: encrypted reasoning, and encrypted summaries of conversations. */
import type { JsonObject } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';
import { readSummary } from './compaction.ts';
import { COMPACTION_ITEMS } from './types.ts';
import { replaceText, type ReplaceSignature, type SignaturePlaces } from '../signatures.ts';

export const signaturePlaces: SignaturePlaces = {
  trait: /"encrypted_content"/,
  inRequest: (body, replace) => mapItems(body, 'input', (item) => readableSummary(item) ?? signedItem(item, replace)),
  inAnswer: (answer, replace) => {
    const inItem = (item: JsonObject): JsonObject => signedItem(item, replace) ?? item;
    const inOutput = (response: JsonObject): JsonObject => mapItems(response, 'output', inItem);
    return inOutput(mapField(mapField(answer, 'item', inItem), 'response', inOutput));
  },
};

const SIGNED_ITEMS: ReadonlySet<unknown> = new Set(['reasoning', ...COMPACTION_ITEMS]);

/** A summary that Genway encoded, as a message; null for any other item. */
function readableSummary(item: JsonObject): JsonObject | null {
  const summary = readSummary(item);
  if (summary === null) return null;
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: summary }] };
}

function signedItem(item: JsonObject, replace: ReplaceSignature): JsonObject | null {
  return SIGNED_ITEMS.has(item['type']) ? replaceText(item, 'encrypted_content', replace) : item;
}
