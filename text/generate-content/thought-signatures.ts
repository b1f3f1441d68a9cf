/**
 * Thought signatures, which this format's models expect back with their tool calls
 * (https://ai.google.dev/gemini-api/docs/thought-signatures). Clients of other formats have no field for them, but they
 * always keep the id of a call, so the signature travels inside it.
 */

/** Accepted instead of a signature, for a call that another model made or whose signature was lost. */
export const SKIP_SIGNATURE = 'skip_thought_signature_validator';

/** Consists of what every format allows in an id: letters, digits, `_` and `-`. */
const SEPARATOR = '-signature-';

/** Signatures are base64, standard or URL-safe; both mean the same bytes. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Longer ones are not packed, because every format limits the length of ids. */
const MAXIMUM_PACKED_LENGTH = 15_000;

export interface CallId {
  readonly id: string;
  readonly signature?: string | undefined;
}

/** The id with the signature inside; a signature that is not base64, or too long, is left out. */
export function packCallId({ id, signature = '' }: CallId): string {
  if (signature.length > MAXIMUM_PACKED_LENGTH || !BASE64.test(signature)) return id;
  return id + SEPARATOR + signature.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The opposite of {@link packCallId}. The signature comes back as padded standard base64. */
export function unpackCallId(callId: string): CallId {
  const at = callId.indexOf(SEPARATOR);
  if (at === -1) return { id: callId };
  const digits = callId
    .slice(at + SEPARATOR.length)
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  return { id: callId.slice(0, at), signature: digits.padEnd(Math.ceil(digits.length / 4) * 4, '=') };
}
