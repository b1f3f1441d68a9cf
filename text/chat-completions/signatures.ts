/**
 * The signatures of calls in chat completions, in the field in which Google's service has them
 * (https://ai.google.dev/gemini-api/docs/thought-signatures). Clients send it back with the call.
 */
import { type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';
import type { ReplaceSignature, SignaturePlaces } from '../signatures.ts';

const FIELD = 'thought_signature';

/** The field of a call that has a signature. */
export function extraContentOf(signature: string | undefined): JsonObject {
  return signature === undefined ? {} : { extra_content: { google: { [FIELD]: signature } } };
}

/** The signature of a call; undefined if it has none. */
export function signatureOf(call: JsonObject): string | undefined {
  return stringOf(objectOf(objectOf(call['extra_content'])['google'])[FIELD]) || undefined;
}

export const signaturePlaces: SignaturePlaces = {
  trait: /"thought_signature"/,
  inRequest: (body, replace) => mapItems(body, 'messages', (message) => inCalls(message, replace)),
  inAnswer: (answer, replace) =>
    mapItems(answer, 'choices', (choice) =>
      ['message', 'delta'].reduce(
        (mapped, field) => mapField(mapped, field, (message) => inCalls(message, replace)),
        choice,
      ),
    ),
};

/** Calls without a foreign signature. */
function inCalls(message: JsonObject, replace: ReplaceSignature): JsonObject {
  return mapItems(message, 'tool_calls', (call) => {
    const signature = signatureOf(call);
    if (signature === undefined) return call;
    const { extra_content: _, ...unsigned } = call;
    return { ...unsigned, ...extraContentOf(replace(signature)) };
  });
}
