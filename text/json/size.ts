/**
 * How large a JSON document will be once it is parsed, judged by its bytes alone: a few bytes of punctuation become
 * values that take twenty times as much memory, and far more time, than the same amount of plain text.
 */
import { badRequest } from '../../domain/errors.ts';

export interface JsonLimits {
  /** How deeply objects and arrays may nest. */
  readonly maxDepth: number;
  /** How many objects, arrays, fields and other values there may be. */
  readonly maxValues: number;
}

/** Longer field names are compared byte by byte with every other name of the same length. */
const MAXIMUM_NAME_BYTES = 4_096;

/** Longer than any model name. */
const MAX_TOP_TEXT = 200;

// parse.ts repeats these bytes: reading each byte takes a third longer with another module's constants.
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Looks once at each byte of a document that arrives in pieces, and refuses it as soon as it is too large. */
export class JsonSizer {
  readonly #limits: JsonLimits;
  #values = 1;
  #depth = 0;
  #textLength = 0;
  /** The beginning of the current or latest string at the top level. */
  #topText = '';
  /** The top-level field whose value follows. */
  #topField: string | null = null;
  #model: string | null = null;
  #place: 'outside' | 'text' | 'escape' = 'outside';

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** How many values there are so far, or a few more. */
  get values(): number {
    return this.#values;
  }

  /** The value of the field `model`, if it is a string without escapes; null otherwise, or before it has arrived. */
  get model(): string | null {
    return this.#model;
  }

  /** @throws ServiceError `bad_request` when the document is too large; does not notice everything that is not JSON */
  push(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index += 1) {
      if (this.#place !== 'outside') index = this.#skipText(bytes, index);
      else {
        index = nextMark(bytes, index);
        this.#take(bytes[index] ?? 0);
      }
    }
  }

  #take(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#place = 'text';
        this.#textLength = 0;
        this.#topText = '';
        return;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#depth += 1;
        if (this.#depth > this.#limits.maxDepth) {
          throw badRequest(`The body nests deeper than ${this.#limits.maxDepth} levels.`);
        }
        return this.#count();
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#depth -= 1;
        return;
      case COLON:
        if (this.#textLength > MAXIMUM_NAME_BYTES) {
          throw badRequest(`The body has a field whose name is longer than ${MAXIMUM_NAME_BYTES} bytes.`);
        }
        if (this.#depth === 1) this.#topField = this.#topText;
        return this.#count();
      case COMMA:
        if (this.#depth === 1) this.#topField = null;
        return this.#count();
    }
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#limits.maxValues) {
      throw badRequest(
        `The body has more than ${this.#limits.maxValues} values (objects, lists, fields, strings, numbers). Send fewer.`,
      );
    }
  }

  /** @returns the index of the last byte that belongs to the string */
  #skipText(bytes: Uint8Array, from: number): number {
    const end = endOfText(bytes, this.#place === 'escape' ? from + 1 : from);
    const isEscaped = end > bytes.length;
    const index = Math.min(end, bytes.length);
    if (this.#depth === 1 && this.#textLength < MAX_TOP_TEXT) {
      this.#topText += Buffer.from(bytes.subarray(from, Math.min(index, from + MAX_TOP_TEXT))).toString('latin1');
    }
    this.#textLength += index - from;
    if (index === bytes.length) this.#place = isEscaped ? 'escape' : 'text';
    else {
      this.#place = 'outside';
      const isWhole = this.#textLength <= MAX_TOP_TEXT && !this.#topText.includes('\\');
      if (this.#depth === 1 && this.#topField === 'model') this.#model = isWhole ? this.#topText : null;
    }
    return index;
  }
}

/** The bytes outside strings that determine the number of values. */
const MARKS = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) MARKS[byte] = 1;

/** The index of the first mark from `from` on, or the length. */
function nextMark(bytes: Uint8Array, from: number): number {
  let index = from;
  while (index < bytes.length && MARKS[bytes[index] ?? 0] === 0) index += 1;
  return index;
}

/** The bytes of a long string that one search covers. */
const WINDOW_BYTES = 4_096;
const SHORT_TEXT_BYTES = 64;

/** The index of the quote that ends a string; beyond the end if a final backslash escapes the next byte. */
function endOfText(bytes: Uint8Array, from: number): number {
  let index = walkText(bytes, from, from + SHORT_TEXT_BYTES);
  while (index < bytes.length && bytes[index] !== QUOTE) {
    const window = bytes.subarray(index, index + WINDOW_BYTES);
    const quote = window.indexOf(QUOTE);
    const plain = quote === -1 ? window : window.subarray(0, quote);
    index = plain.includes(BACKSLASH) ? walkText(bytes, index, index + WINDOW_BYTES) : index + plain.length;
  }
  return index;
}

/** Walks over a string, escape by escape, to its quote or to about `until`. */
function walkText(bytes: Uint8Array, from: number, until: number): number {
  const end = Math.min(until, bytes.length);
  let index = from;
  while (index < end) {
    const byte = bytes[index];
    if (byte === QUOTE) return index;
    index += byte === BACKSLASH ? 2 : 1;
  }
  return index;
}
