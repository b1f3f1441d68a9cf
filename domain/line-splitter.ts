import { BodyBytes } from './body-bytes.ts';

/** A line of a file, without its line break. */
export interface Line {
  /** From 1 on. */
  readonly number: number;
  readonly bytes: Buffer;
  /** Where the next line starts. */
  readonly nextByte: number;
}

/** The start of a line. */
export interface LinePosition {
  readonly number: number;
  readonly byte: number;
}

export const FIRST_LINE: LinePosition = { number: 1, byte: 0 };

const LINE_FEED = 0x0a;

/** Splits a file that arrives in pieces into lines. Holds no more than one line. */
export class LineSplitter {
  #line = new BodyBytes();
  #heldBytes = 0;
  #number: number;
  #byte: number;

  /** @param from the position of the first byte that arrives */
  constructor({ number, byte }: LinePosition = FIRST_LINE) {
    this.#number = number;
    this.#byte = byte;
  }

  /** The size of the incomplete line. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The number of the incomplete line. */
  get number(): number {
    return this.#number;
  }

  /** Returns the lines that end in the piece, one by one. */
  *push(piece: Buffer): Generator<Line, void, undefined> {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      this.#hold(piece.subarray(start, end));
      start = end + 1;
      yield this.#take(1);
    }
    if (start < piece.byteLength) this.#hold(piece.subarray(start));
  }

  /** Returns the last line if no line break ends it. */
  end(): Line | null {
    return this.#heldBytes === 0 ? null : this.#take(0);
  }

  #hold(bytes: Buffer): void {
    this.#line.add(bytes);
    this.#heldBytes += bytes.byteLength;
  }

  #take(breakBytes: number): Line {
    this.#byte += this.#heldBytes + breakBytes;
    this.#heldBytes = 0;
    const bytes = this.#line.take();
    this.#line = new BodyBytes();
    return { number: this.#number++, bytes, nextByte: this.#byte };
  }
}
