/**
 * Thought signatures, which this format's models expect back with their tool calls
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
import type { JsonObject } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';
import { replaceText, type ReplaceSignature, type SignaturePlaces } from '../signatures.ts';

/** Accepted instead of a signature, for a call that another model made or whose signature was lost. */
export const SKIP_SIGNATURE = 'skip_thought_signature_validator';

const FIELDS = ['thoughtSignature', 'thought_signature'];

export const signaturePlaces: SignaturePlaces = {
  trait: /"thoughtSignature"/,
  inRequest: (body, replace) =>
    mapItems(body, 'contents', (content) => mapItems(content, 'parts', (part) => partOf(part, replace))),
  inAnswer: (answer, replace) =>
    mapItems(answer, 'candidates', (candidate) =>
      mapField(candidate, 'content', (content) => mapItems(content, 'parts', (part) => partOf(part, replace))),
    ),
};

/** The part without a foreign signature; a call then asks to skip the validation of its signature. */
function partOf(part: JsonObject, replace: ReplaceSignature): JsonObject {
  const field = FIELDS.find((name) => typeof part[name] === 'string');
  if (field === undefined || part[field] === SKIP_SIGNATURE) return part;
  const replaced = replaceText(part, field, replace);
  if (replaced !== null) return replaced;
  const { [field]: _, ...unsigned } = part;
  const isCall = 'functionCall' in part || 'function_call' in part;
  return isCall ? { ...unsigned, [field]: SKIP_SIGNATURE } : unsigned;
}
