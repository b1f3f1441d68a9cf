/** Where results and uploads are kept. `createLocalStorage` and `createS3Storage` implement it. */

export interface StoredObject {
  /** Public link. */
  readonly url: string;
  readonly bytes: number;
}

export interface PutOptions {
  readonly contentType: string;
  /** The object is refused, and nothing is left behind, when more bytes than this arrive. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** More bytes than `maxBytes` arrived. */
export class ObjectTooLargeError extends Error {
  override readonly name = 'ObjectTooLargeError';
}

/** A fault of the store itself, not of what was to be stored: the same may be stored later. */
export class StorageFailedError extends Error {
  override readonly name = 'StorageFailedError';
}

export interface Storage {
  /**
   * Streams `body` into the object `key`, never holding it whole in memory. Either the whole object appears, or nothing:
   * a body that fails or is aborted leaves nothing behind. Writing the same key again replaces the object.
   *
   * @param key letters, digits, `.`, `_`, `-` and `/`, e.g. `results/task_…/0.mp4`
   * @throws ObjectTooLargeError
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject>;
  /** Removes the object; no error when it is not there. */
  delete(key: string): Promise<void>;
  /** The object from its first byte, to be read once and no further than needed; null when it is not there. */
  read(key: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** Whether the object is there. */
  has(key: string): Promise<boolean>;
  /** The public link of the object `key`, whether it exists or not. */
  urlOf(key: string): string;
  /** The key in a public link of this storage, whether it exists or not; null for every other link. */
  keyOf(url: string): string | null;
}
