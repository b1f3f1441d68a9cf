/** JSON text that arrives in pieces, and whether it is a complete object yet. */
import { isObject } from '../domain/json.ts';

const SPACE = /^[ \t\n\r]$/;

/** Looks at each character once, however many pieces there are. */
export class ObjectText {
  /** The text so far. */
  text = '';
  #place: 'before' | 'inside' | 'after' | 'broken' = 'before';
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  /** Whether the text, which looks complete, is JSON; null until the first check. */
  #isValid: boolean | null = null;

  add(piece: string): void {
    this.text += piece;
    for (let index = 0; index < piece.length && this.#place !== 'broken'; index += 1) this.#take(piece.charAt(index));
  }

  /** Whether it is a complete JSON object, after which only white space can follow. */
  get isWhole(): boolean {
    if (this.#place !== 'after') return false;
    this.#isValid ??= isObjectText(this.text);
    return this.#isValid;
  }

  #take(character: string): void {
    if (this.#place === 'inside') this.#takeInside(character);
    else if (SPACE.test(character)) return;
    else if (this.#place === 'before' && character === '{') {
      this.#place = 'inside';
      this.#depth = 1;
    } else this.#place = 'broken';
  }

  #takeInside(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#inText) {
      if (character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#inText = false;
    } else if (character === '"') this.#inText = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') {
      this.#depth -= 1;
      if (this.#depth === 0) this.#place = 'after';
    }
  }
}

function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
