/** A body of which the first bytes have been looked at. */
export interface PeekedBody {
  /** At least as many bytes as asked for, or the whole of a shorter body. */
  readonly head: Uint8Array;
  /** All of it, the head included; can be read once. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Reads the first `bytes` bytes of a body, e.g. to tell its type, and gives the whole of it back. */
export async function peek(source: AsyncIterable<Uint8Array>, bytes: number): Promise<PeekedBody> {
  const iterator = source[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let readBytes = 0;
  while (readBytes < bytes) {
    const next = await iterator.next();
    if (next.done) break;
    read.push(next.value);
    readBytes += next.value.byteLength;
  }
  async function* body(): AsyncIterable<Uint8Array> {
    yield* read;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head: Buffer.concat(read), body: body() };
}
