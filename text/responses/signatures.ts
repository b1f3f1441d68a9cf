/** The signatures of responses bodies: encrypted reasoning. */
import type { JsonObject } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';
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

function itemOf(item: JsonObject, replace: ReplaceSignature): JsonObject | null {
  return item['type'] === 'reasoning' ? replaceText(item, 'encrypted_content', replace) : item;
}
