import { ObjectTooLargeError } from './storage.ts';

/** A body on its way into a store. */
export interface BoundedBody extends AsyncIterable<Uint8Array> {
  /** The number of bytes that have passed so far. */
  readonly bytes: number;
}

/**
 * Passes `source` on. Fails once more than `maxBytes` have arrived or `signal` fires, even while the source is silent.
 * Can be read once.
 *
 * @throws ObjectTooLargeError or the signal's reason, while it is read
 */
export function boundBody(
  source: AsyncIterable<Uint8Array>,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal?: AbortSignal },
): BoundedBody {
  let bytes = 0;
  const chunks = source[Symbol.asyncIterator]();
  async function* pass(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        signal?.throwIfAborted();
        const { value, done } = await unlessAborted(chunks.next(), signal);
        if (done === true) return;
        bytes += value.byteLength;
        if (bytes > maxBytes) throw new ObjectTooLargeError(`more than ${maxBytes} bytes`);
        yield value;
      }
    } finally {
      // Not awaited: a silent source would not answer.
      chunks.return?.()?.catch(() => {});
    }
  }
  const passed = pass();
  return {
    get bytes() {
      return bytes;
    },
    [Symbol.asyncIterator]: () => passed,
  };
}

/** Waits for `promise` until `signal` fires. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    const settle = () => signal.removeEventListener('abort', onAbort);
    signal.addEventListener('abort', onAbort);
    promise.then(resolve, reject).then(settle, settle);
  });
}
