import { bufferOf } from '../../domain/body-bytes.ts';

/** A parser that is suspended whenever it needs bytes that have not arrived yet. */
export type Parsing<Result> = Generator<undefined, Result, void>;

/** The file is not a complete file of a known type. The message gives the reason. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError';
}

/** The file for parsers: bytes in order, independent of their division into chunks. */
export class StreamedInput {
  #unread: Buffer = Buffer.alloc(0);
  #ended = false;
  #position = 0;

  /** The offset of the next byte in the file. */
  get position(): number {
    return this.#position;
  }

  /** Adds a part of the file. Parsers leave only a few bytes unread, so joining them costs little. */
  push(chunk: Uint8Array): void {
    this.#unread = this.#unread.length === 0 ? bufferOf(chunk) : Buffer.concat([this.#unread, chunk]);
  }

  /** Marks the end of the file. */
  end(): void {
    this.#ended = true;
  }

  *atEnd(): Parsing<boolean> {
    return (yield* this.peek(1)).length === 0;
  }

  /** Returns the next bytes without consuming them; fewer than `length` only at the end of the file. */
  *peek(length: number): Parsing<Buffer> {
    while (this.#unread.length < length && !this.#ended) yield;
    return this.#unread.subarray(0, length);
  }

  /** Reads a few bytes. @throws BrokenMediaError if the file ends first */
  *take(length: number): Parsing<Buffer> {
    const bytes = yield* this.peek(length);
    if (bytes.length < length) throw this.#endsEarly();
    this.#advance(length);
    return bytes;
  }

  /**
   * Reads on to the offset `end`; Infinity means the end of the file.
   *
   * @param see receives the skipped bytes, in pieces of any length
   * @throws BrokenMediaError if the file ends first
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

  /** Reads on until `byte` is next. @throws BrokenMediaError if the file ends first */
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
