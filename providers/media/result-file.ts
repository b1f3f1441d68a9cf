/** The files of a finished render. */

/** A file to be fetched, or the file itself. */
export type ResultFile =
  | { readonly url: string; readonly mimeType: string | null }
  | { readonly bytes: Uint8Array; readonly mimeType: string | null };

/** An open download. The caller must consume or cancel `body`. */
export interface ResultDownload {
  readonly body: ReadableStream<Uint8Array>;
}
