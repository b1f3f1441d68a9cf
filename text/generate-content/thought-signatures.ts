/**
 * Thought signatures, which the models of this format want back with their tool calls
 * (https://ai.google.dev/gemini-api/docs/thought-signatures). Clients of other formats have no field for them; what they
 * keep for certain is the id of a call, so the signature travels in it.
 */

/** What the models take in place of a signature for a call that another model made, or whose signature was lost. */
export const SKIP_SIGNATURE = 'skip_thought_signature_validator';

/** Made of what every format allows in an id: letters, digits, `_` and `-`. */
const SEPARATOR = '-signature-';

/** Signatures are base64, standard or URL-safe, which both mean the same bytes. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Longer ones are not packed: no format's reader takes an id of any length. */
const MAXIMUM_PACKED_LENGTH = 15_000;

export interface CallId {
  readonly id: string;
  readonly signature?: string | undefined;
}

/** The id with the signature in it; a signature that is not base64 is none and left out, and so is one that is too long. */
export function packCallId({ id, signature = '' }: CallId): string {
  if (signature.length > MAXIMUM_PACKED_LENGTH || !BASE64.test(signature)) return id;
  return id + SEPARATOR + signature.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** What {@link packCallId} was given. The signature comes back as padded standard base64. */
export function unpackCallId(callId: string): CallId {
  const at = callId.indexOf(SEPARATOR);
  if (at === -1) return { id: callId };
  const digits = callId
    .slice(at + SEPARATOR.length)
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  return { id: callId.slice(0, at), signature: digits.padEnd(Math.ceil(digits.length / 4) * 4, '=') };
}
