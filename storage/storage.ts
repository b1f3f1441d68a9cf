/** The store of results and uploads. `createLocalStorage` and `createS3Storage` implement it. */

export interface StoredObject {
  /** The public link. */
  readonly url: string;
  readonly bytes: number;
}

export interface PutOptions {
  readonly contentType: string;
  /** If more bytes arrive, `put` refuses the object and leaves nothing behind. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** More bytes than `maxBytes` arrived. */
export class ObjectTooLargeError extends Error {
  override readonly name = 'ObjectTooLargeError';
}

/** The store itself failed, not the object: a later attempt to store the object may succeed. */
export class StorageFailedError extends Error {
  override readonly name = 'StorageFailedError';
}

export interface Storage {
  /**
   * Streams `body` into the object `key`, without holding all of it in memory. Writes the whole object or nothing: a
   * body that fails or is aborted leaves nothing behind. Replaces an object with the same key.
   *
   * @param key letters, digits, `.`, `_`, `-` and `/`, such as `results/task_…/0.mp4`
   * @throws ObjectTooLargeError
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject>;
  /** Deletes the object, if it exists. */
  delete(key: string): Promise<void>;
  /**
   * Reads the object; null if it does not exist. Can be read once, and only in part.
   *
   * @param options.fromByte the first byte to read, at most the size of the object; 0 by default
   */
  read(key: string, options?: { readonly fromByte: number }): Promise<AsyncIterable<Uint8Array> | null>;
  /** The size of the object in bytes; null if it does not exist. */
  sizeOf(key: string): Promise<number | null>;
  /** The public link of the object `key`, whether or not it exists. */
  urlOf(key: string): string;
  /** The key in one of this storage's public links, whether or not the object exists; null for any other link. */
  keyOf(url: string): string | null;
}
