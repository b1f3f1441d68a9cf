/** The files of a finished render. */

/** A file to be fetched, or the file itself. */
export type ResultFile =
  | { readonly url: string; readonly mimeType: string | null }
  | { readonly bytes: Uint8Array; readonly mimeType: string | null };

/** An open download. The caller must consume or cancel `body`. */
export interface ResultDownload {
  readonly body: ReadableStream<Uint8Array>;
}

/** The start of a data URL in base64 (RFC 2397). */
const DATA_URL = /^data:[^,]{0,255};base64,/i;

/** The file in a data URL, which relays send in the place of a link or of base64 alone; null for any other text. */
export function bytesInDataUrl(url: string): Uint8Array | null {
  const [head] = DATA_URL.exec(url) ?? [];
  return head === undefined ? null : Buffer.from(url.slice(head.length), 'base64');
}
