/**
 * Reasoning inside of the text: upstreams that serve open models may write it at the beginning, between `<think>` and
 * `</think>`, where others have a field for it.
 */
const OPENING = '<think>';
const CLOSING = '</think>';

export interface Piece {
  readonly type: 'reasoning' | 'text';
  readonly text: string;
}

/** Tells reasoning and text apart in one answer, whose pieces may be cut anywhere. */
export class TaggedText {
  #place: 'before' | 'reasoning' | 'between' | 'text' = 'before';
  /** The white space that the answer begins with, which is text unless a tag follows. */
  #space = '';
  /** What may be the beginning of a tag. */
  #held = '';

  /** Whether all that follows is text. */
  get isPlain(): boolean {
    return this.#place === 'text';
  }

  /** The pieces that follow from some more of the answer. */
  push(text: string): Piece[] {
    this.#held += text;
    const pieces: Piece[] = [];
    if (this.#place === 'before') this.#open();
    if (this.#place === 'reasoning') this.#readReasoning(pieces);
    if (this.#place === 'between') this.#skipSpace();
    if (this.#place === 'text') this.#give('text', this.#held.length, pieces);
    return pieces;
  }

  /** What was held back, when something else than text follows. */
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

/** Length of the longest end of `text` that a closing tag begins with. */
function lengthOfPossibleStart(text: string): number {
  let length = Math.min(CLOSING.length - 1, text.length);
  while (!CLOSING.startsWith(text.slice(text.length - length))) length -= 1;
  return length;
}
