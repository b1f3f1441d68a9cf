/** A parser that is suspended whenever it needs bytes that have not arrived yet. */
export type Parsing<Result> = Generator<undefined, Result, void>;

/** The file is not a whole file of a known type. The message is a phrase that says why. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError';
}

/** The file as the parsers see it: bytes in order, no matter how they are cut into chunks. */
export class StreamedInput {
  #unread: Buffer = Buffer.alloc(0);
  #ended = false;
  #position = 0;

  /** How many bytes have been read: the offset of the next one in the file. */
  get position(): number {
    return this.#position;
  }

  /** More of the file. Parsers leave a few bytes unread at most, so that joining them costs little. */
  push(chunk: Uint8Array): void {
    this.#unread =
      this.#unread.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        : Buffer.concat([this.#unread, chunk]);
  }

  /** No more will come. */
  end(): void {
    this.#ended = true;
  }

  *atEnd(): Parsing<boolean> {
    return (yield* this.peek(1)).length === 0;
  }

  /** The next bytes, still unread; fewer than `length` only when the file ends before. */
  *peek(length: number): Parsing<Buffer> {
    while (this.#unread.length < length && !this.#ended) yield;
    return this.#unread.subarray(0, length);
  }

  /** Reads a few bytes. @throws BrokenMediaError when the file ends before */
  *take(length: number): Parsing<Buffer> {
    const bytes = yield* this.peek(length);
    if (bytes.length < length) throw this.#endsEarly();
    this.#advance(length);
    return bytes;
  }

  /**
   * Reads on to `end`, an offset in the file; Infinity stands for wherever the file ends.
   *
   * @param see is shown the bytes on the way, in pieces of any length
   * @throws BrokenMediaError when the file ends before
   */
  *skipTo(end: number, see?: (bytes: Buffer) => void): Parsing<void> {
    while (this.#position < end) {
      if (yield* this.atEnd()) {
        if (end === Infinity) return;
        throw this.#endsEarly();
      }
      const bytes = this.#unread.subarray(0, end - this.#position);
      this.#advance(bytes.length);
      see?.(bytes);
    }
  }

  /** Reads on until `byte` is next. @throws BrokenMediaError when it does not come */
  *skipUntil(byte: number): Parsing<void> {
    for (;;) {
      const index = this.#unread.indexOf(byte);
      this.#advance(index === -1 ? this.#unread.length : index);
      if (index !== -1) return;
      if (yield* this.atEnd()) throw this.#endsEarly();
    }
  }

  #advance(length: number): void {
    this.#unread = this.#unread.subarray(length);
    this.#position += length;
  }

  #endsEarly(): BrokenMediaError {
    return new BrokenMediaError(`the file is cut short after ${this.#position + this.#unread.length} bytes`);
  }
}
