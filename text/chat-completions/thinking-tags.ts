/**
 * Reasoning inside the text: upstreams that serve open models may put it at the beginning, between `<think>` and
 * `</think>`, where others have a field for it.
 */
const OPENING = '<think>';
const CLOSING = '</think>';

export interface Piece {
  readonly type: 'reasoning' | 'text';
  readonly text: string;
}

/** Separates reasoning from text in an answer that arrives in any pieces. */
export class TaggedText {
  #place: 'before' | 'reasoning' | 'between' | 'text' = 'before';
  /** The white space at the beginning of the answer, which is text unless a tag follows. */
  #space = '';
  /** Text that may be the start of a tag. */
  #held = '';

  /** Whether everything that follows is text. */
  get isPlain(): boolean {
    return this.#place === 'text';
  }

  /** Takes more of the answer. @returns the pieces that follow from it */
  push(text: string): Piece[] {
    this.#held += text;
    const pieces: Piece[] = [];
    if (this.#place === 'before') this.#open();
    if (this.#place === 'reasoning') this.#readReasoning(pieces);
    if (this.#place === 'between') this.#skipSpace();
    if (this.#place === 'text') this.#give('text', this.#held.length, pieces);
    return pieces;
  }

  /** Returns the text that was held back: something other than text follows, so no tag can. */
  end(): Piece[] {
    const pieces: Piece[] = [];
    if (this.#place === 'between') this.#held = '';
    this.#unhold();
    this.#give(this.#place === 'reasoning' ? 'reasoning' : 'text', this.#held.length, pieces);
    this.#place = 'text';
    return pieces;
  }

  #open(): void {
    const begun = this.#held.trimStart();
    this.#space += this.#held.slice(0, this.#held.length - begun.length);
    this.#held = begun;
    if (begun.startsWith(OPENING)) {
      this.#place = 'reasoning';
      this.#space = '';
      this.#held = begun.slice(OPENING.length);
    } else if (!OPENING.startsWith(begun)) {
      this.#place = 'text';
      this.#unhold();
    }
  }

  #unhold(): void {
    this.#held = this.#space + this.#held;
    this.#space = '';
  }

  #readReasoning(pieces: Piece[]): void {
    const end = this.#held.indexOf(CLOSING);
    if (end === -1) {
      return this.#give('reasoning', this.#held.length - lengthOfPossibleStart(this.#held), pieces);
    }
    this.#give('reasoning', end, pieces);
    this.#held = this.#held.slice(CLOSING.length);
    this.#place = 'between';
  }

  #skipSpace(): void {
    this.#held = this.#held.trimStart();
    if (this.#held !== '') this.#place = 'text';
  }

  #give(type: Piece['type'], length: number, pieces: Piece[]): void {
    if (length > 0) pieces.push({ type, text: this.#held.slice(0, length) });
    this.#held = this.#held.slice(length);
  }
}

/** The length of the longest suffix of `text` with which a closing tag starts. */
function lengthOfPossibleStart(text: string): number {
  let length = Math.min(CLOSING.length - 1, text.length);
  while (!CLOSING.startsWith(text.slice(text.length - length))) length -= 1;
  return length;
}
