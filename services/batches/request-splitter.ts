import { BodyBytes } from '../../domain/body-bytes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const TEXT = 2;
/** What a byte outside of a text does: opens (1) or closes (-1) an object or list, starts a text, or nothing (0). */
const EFFECTS = new Int8Array(256);
for (const open of Buffer.from('[{')) EFFECTS[open] = 1;
for (const close of Buffer.from(']}')) EFFECTS[close] = -1;
EFFECTS[QUOTE] = TEXT;
/** Takes the place of a request in the rest of the document. */
const PLACEHOLDER = Buffer.from('0');
/** Requests are the objects within the list that is a field of the document. */
const REQUEST_DEPTH = 3;

/**
 * Splits a JSON document `{"requests": [{…}, …]}` that arrives in pieces into its requests. Holds no more than one
 * request and the rest of the document, in which a 0 takes the place of each request. Everything that is not JSON ends in
 * a request or in the rest, where a parser finds it.
 */
export class RequestSplitter {
  #request = new BodyBytes();
  #requestBytes = 0;
  readonly #rest = new BodyBytes();
  #restBytes = 0;
  #depth = 0;
  #isInText = false;
  /** Whether a backslash at the end of a piece escapes the first byte of the next. */
  #isEscape = false;

  /** The size of the incomplete request. */
  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** The size of the document without its requests. */
  get restBytes(): number {
    return this.#restBytes;
  }

  /** Returns the requests that end in the piece, one by one. */
  *push(piece: Buffer): Generator<Buffer, void, undefined> {
    if (piece.byteLength === 0) return;
    let start = 0;
    for (let index = this.#nextMark(piece, 0); index < piece.byteLength; index = this.#nextMark(piece, index + 1)) {
      const effect = EFFECTS[piece[index] ?? 0] ?? 0;
      if (effect === TEXT) {
        this.#isInText = true;
        continue;
      }
      this.#depth += effect;
      if (effect === 1 && this.#depth === REQUEST_DEPTH) {
        this.#keep(piece.subarray(start, index));
        start = index;
      } else if (effect === -1 && this.#depth === REQUEST_DEPTH - 1) {
        this.#hold(piece.subarray(start, index + 1));
        start = index + 1;
        yield this.#takeRequest();
      }
    }
    if (this.#depth < REQUEST_DEPTH) this.#keep(piece.subarray(start));
    else this.#hold(piece.subarray(start));
  }

  /** Returns the document without its requests, once it has arrived. An unfinished request is left out. */
  end(): Buffer {
    return this.#rest.take();
  }

  /** The next byte outside of a text that has an effect; the length of the piece if there is none. */
  #nextMark(piece: Buffer, from: number): number {
    let index = this.#isInText ? this.#endOfText(piece, from) : from;
    while (index < piece.byteLength && EFFECTS[piece[index] ?? 0] === 0) index += 1;
    return index;
  }

  /** The byte after a text that starts or continues at `from`. */
  #endOfText(piece: Buffer, from: number): number {
    let index = this.#isEscape ? from + 1 : from;
    this.#isEscape = false;
    for (;;) {
      const quote = piece.indexOf(QUOTE, index);
      const end = quote === -1 ? piece.byteLength : quote;
      let backslashes = 0;
      while (end - backslashes > index && piece[end - backslashes - 1] === BACKSLASH) backslashes += 1;
      const isEscaped = backslashes % 2 === 1;
      if (quote === -1) {
        this.#isEscape = isEscaped;
        return end;
      }
      index = quote + 1;
      if (!isEscaped) {
        this.#isInText = false;
        return index;
      }
    }
  }

  #keep(bytes: Buffer): void {
    this.#rest.add(bytes);
    this.#restBytes += bytes.byteLength;
  }

  #hold(bytes: Buffer): void {
    this.#request.add(bytes);
    this.#requestBytes += bytes.byteLength;
  }

  #takeRequest(): Buffer {
    const request = this.#request.take();
    this.#request = new BodyBytes();
    this.#requestBytes = 0;
    this.#keep(PLACEHOLDER);
    return request;
  }
}
