/**
 * How large a JSON document is once it is parsed, told by its bytes alone: what a few bytes of punctuation become in memory
 * costs twenty times as much and takes far longer to make than as much plain text.
 */
import { badRequest } from '../../domain/errors.ts';

export interface JsonLimits {
  /** How many objects and arrays may stand in one another. */
  readonly maxDepth: number;
  /** How many objects, arrays, fields and other values there may be. */
  readonly maxValues: number;
}

/** Field names that are longer are compared with each other byte by byte, as often as there are others of their length. */
const MAXIMUM_NAME_BYTES = 4_096;

/** Names of models are shorter. */
const LONGEST_TOP_TEXT = 200;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Looks once at each byte of a document that comes in pieces, and refuses it as soon as it is too large. */
export class JsonSizer {
  readonly #limits: JsonLimits;
  #values = 1;
  #depth = 0;
  #textLength = 0;
  /** The beginning of the text that is being read or was read last, right inside of the document. */
  #topText = '';
  /** The field right inside of the document whose value follows. */
  #topField: string | null = null;
  #model: string | null = null;
  #place: 'outside' | 'text' | 'escape' = 'outside';

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** How many values there are so far; never fewer than there really are. */
  get values(): number {
    return this.#values;
  }

  /** The value of the field `model`, when it is a text without anything escaped; null when it is not, or was not told yet. */
  get model(): string | null {
    return this.#model;
  }

  /** @throws ServiceError `bad_request` when the document is too large; what is no JSON may pass */
  push(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index += 1) {
      if (this.#place !== 'outside') index = this.#skipText(bytes, index);
      else {
        const byte = bytes[index] ?? SPACE;
        if (byte > SPACE) this.#take(byte);
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
        `The body holds more than ${this.#limits.maxValues} values (objects, lists, fields, texts, numbers). Send fewer.`,
      );
    }
  }

  /** @returns the index of the last byte that belongs to the text */
  #skipText(bytes: Uint8Array, from: number): number {
    let index = this.#place === 'escape' ? from + 1 : from;
    while (index < bytes.length) {
      const byte = bytes[index];
      if (byte === QUOTE) break;
      index += byte === BACKSLASH ? 2 : 1;
    }
    const isEscaped = index > bytes.length;
    index = Math.min(index, bytes.length);
    if (this.#depth === 1 && this.#textLength < LONGEST_TOP_TEXT) {
      this.#topText += Buffer.from(bytes.subarray(from, Math.min(index, from + LONGEST_TOP_TEXT))).toString('latin1');
    }
    this.#textLength += index - from;
    if (index === bytes.length) this.#place = isEscaped ? 'escape' : 'text';
    else {
      this.#place = 'outside';
      const isWhole = this.#textLength <= LONGEST_TOP_TEXT && !this.#topText.includes('\\');
      if (this.#depth === 1 && this.#topField === 'model') this.#model = isWhole ? this.#topText : null;
    }
    return index;
  }
}
