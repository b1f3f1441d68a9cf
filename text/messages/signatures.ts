/** The signatures of thinking in messages bodies. */
import type { JsonObject } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';
import { replaceText, type ReplaceSignature, type SignaturePlaces } from '../signatures.ts';

export const signaturePlaces: SignaturePlaces = {
  trait: /"signature"|"redacted_thinking"/,
  inRequest: (body, replace) =>
    mapItems(body, 'messages', (message) => {
      const kept = mapItems(message, 'content', (block) => blockOf(block, replace));
      const { content } = kept;
      // Upstreams refuse a message without blocks.
      return kept !== message && Array.isArray(content) && content.length === 0 ? null : kept;
    }),
  inAnswer: (answer, replace) => {
    const inBlock = (block: JsonObject): JsonObject => blockOf(block, replace) ?? block;
    const inContent = (message: JsonObject): JsonObject => mapItems(message, 'content', inBlock);
    const event = mapField(mapField(answer, 'content_block', inBlock), 'delta', inBlock);
    return inContent(mapField(event, 'message', inContent));
  },
};

/** A block, or the delta of one; null for thinking without a signature, as models of other vendors have it. */
function blockOf(block: JsonObject, replace: ReplaceSignature): JsonObject | null {
  switch (block['type']) {
    case 'thinking':
      return replaceText('signature' in block ? block : { ...block, signature: '' }, 'signature', replace);
    case 'signature_delta':
      return replaceText(block, 'signature', replace);
    case 'redacted_thinking':
      return replaceText(block, 'data', replace);
    default:
      return block;
  }
}
