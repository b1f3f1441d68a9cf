/** The store of results and uploads. `createLocalStorage` and `createS3Storage` implement it. */

export interface StoredObject {
  /** Public link. */
  readonly url: string;
  readonly bytes: number;
}

export interface PutOptions {
  readonly contentType: string;
  /** When more bytes than this arrive, the object is refused and nothing is left behind. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** More bytes than `maxBytes` arrived. */
export class ObjectTooLargeError extends Error {
  override readonly name = 'ObjectTooLargeError';
}

/** A fault of the store itself, not of the object: the same object may be stored later. */
export class StorageFailedError extends Error {
  override readonly name = 'StorageFailedError';
}

export interface Storage {
  /**
   * Streams `body` into the object `key`, without holding all of it in memory. Either the whole object appears or
   * nothing does: a body that fails or is aborted leaves nothing behind. Writing the same key again replaces the
   * object.
   *
   * @param key letters, digits, `.`, `_`, `-` and `/`, such as `results/task_…/0.mp4`
   * @throws ObjectTooLargeError
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject>;
  /** Deletes the object. Not an error when it does not exist. */
  delete(key: string): Promise<void>;
  /** The object from its first byte; can be read once, and no further than necessary. Null when it does not exist. */
  read(key: string): Promise<AsyncIterable<Uint8Array> | null>;
  /** Whether the object exists. */
  has(key: string): Promise<boolean>;
  /** The public link of the object `key`, whether or not it exists. */
  urlOf(key: string): string;
  /** The key in one of this storage's public links, whether or not the object exists; null for every other link. */
  keyOf(url: string): string | null;
}
