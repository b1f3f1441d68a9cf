/** A body whose first bytes have been read. */
export interface PeekedBody {
  /** At least the requested number of bytes, or all of a shorter body. */
  readonly head: Uint8Array;
  /** The whole body, including the head; can be read once. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Reads the first `bytes` bytes of a body, for example to recognise its type, and returns the whole body. */
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
