/** Parses JSON, large documents in steps, between which other requests are served. */
import { bufferOf } from '../../domain/body-bytes.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { isRounded, keepDigits, mayRound } from './exact.ts';
import type { JsonLimits } from './size.ts';
import { runAtOnce, runInSteps, type Steps } from './steps.ts';

/** Smaller documents are parsed at once. */
export const LARGE_JSON_BYTES = 128 * 1024;
/** How many bytes a step reads: a few milliseconds of work. */
const STEP_COST = 512 * 1024;
/** Each value takes about as long as this many bytes of text. */
const VALUE_COST = 64;
/** RFC 8259, section 9, lets parsers limit the length of numbers. */
const MAX_NUMBER_BYTES = 1_024;

/** Skips a byte order mark. */
const decoder = new TextDecoder();

/**
 * The value of a document in UTF-8: the same as `JSON.parse` returns. Invalid UTF-8 becomes U+FFFD. The digits of large
 * integers are kept for `write.ts`.
 *
 * @throws SyntaxError when it is not JSON
 */
export async function parseJson(bytes: Uint8Array): Promise<unknown> {
  if (bytes.byteLength < LARGE_JSON_BYTES) return parseJsonText(decoder.decode(bytes));
  return runInSteps(parseInSteps(bytes));
}

/** {@link parseJson} of a small document, at once. */
export function parseJsonText(text: string): unknown {
  return mayRound(text) ? runAtOnce(parseInSteps(Buffer.from(text))) : JSON.parse(text);
}

/** The object in a small document; null for other JSON, and for text that is none. */
export function objectOfText(text: string): JsonObject | null {
  try {
    const value = parseJsonText(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const UNLIMITED: JsonLimits = { maxDepth: Infinity, maxValues: Infinity };

/** As {@link parseJson}. @throws RangeError when the document is larger than `limits`, before it builds the value */
export function* parseInSteps(bytes: Uint8Array, limits: JsonLimits = UNLIMITED): Steps<unknown> {
  const parser = new Parser(bufferOf(bytes), limits);
  while (!parser.takeStep()) yield;
  return parser.value;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LETTER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Whether the byte is a tab, line break or space. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether the byte continues a UTF-8 character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** An array or object that is not complete yet. */
type Open = { readonly items: unknown[] } | { readonly fields: Record<string, unknown>; name: string };

/** The tokens that may come next. `item`, `field`: the first of an array or object, or its end; `more`: what follows a value. */
type Place = 'value' | 'item' | 'field' | 'name' | 'colon' | 'more';

class Parser {
  /** The value of the document, at its end. */
  value: unknown;
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  readonly #open: Open[] = [];
  #values = 0;
  #place: Place = 'value';
  #at = 0;
  /** The budget left in this step. */
  #left = 0;
  /** The string that is being read; null outside strings. */
  #text: string | null = null;

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
    // A byte order mark.
    if (bytes.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))) this.#at = 3;
  }

  /** @returns whether the document is complete. @throws SyntaxError */
  takeStep(): boolean {
    this.#left = STEP_COST;
    for (;;) {
      if (this.#text === null) this.#skipSpace();
      if (this.#left <= 0) return false;
      if (this.#text !== null) this.#readText(this.#text);
      else if (this.#at < this.#bytes.length) this.#takeByte(this.#bytes[this.#at] ?? 0);
      else if (this.#place === 'more' && this.#open.length === 0) return true;
      else throw notJson();
    }
  }

  #skipSpace(): void {
    const start = this.#at;
    const end = start + this.#left;
    while (this.#at < end && isSpace(this.#bytes[this.#at])) this.#at += 1;
    this.#left -= this.#at - start;
  }

  /** Handles a byte that is not white space. */
  #takeByte(byte: number): void {
    this.#left -= VALUE_COST;
    switch (this.#place) {
      case 'more':
        return this.#takeMore(byte);
      case 'colon':
        if (byte !== COLON) throw notJson();
        return this.#goTo('value');
      case 'field':
      case 'name':
        if (byte === QUOTE) return this.#beginText();
        if (byte === CLOSE_OBJECT && this.#place === 'field') return this.#close();
        throw notJson();
      case 'item':
      case 'value':
        if (byte === CLOSE_ARRAY && this.#place === 'item') return this.#close();
        return this.#takeValue(byte);
    }
  }

  #goTo(place: Place): void {
    this.#at += 1;
    this.#place = place;
  }

  #takeMore(byte: number): void {
    const parent = this.#open.at(-1);
    const isArray = parent !== undefined && 'items' in parent;
    if (byte === (isArray ? CLOSE_ARRAY : CLOSE_OBJECT)) return this.#close();
    if (byte !== COMMA || parent === undefined) throw notJson();
    this.#goTo(isArray ? 'value' : 'name');
  }

  #takeValue(byte: number): void {
    this.#values += 1;
    if (this.#values > this.#limits.maxValues || this.#open.length >= this.#limits.maxDepth) throw tooLarge();
    if (byte === QUOTE) return this.#beginText();
    if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) return this.#readScalar();
    this.#open.push(byte === OPEN_ARRAY ? { items: [] } : { fields: {}, name: '' });
    this.#goTo(byte === OPEN_ARRAY ? 'item' : 'field');
  }

  #close(): void {
    const closed = this.#open.pop();
    if (closed === undefined) throw notJson();
    this.#at += 1;
    this.#add('items' in closed ? closed.items : closed.fields);
  }

  /** Adds a complete value. */
  #add(value: unknown): void {
    const parent = this.#open.at(-1);
    if (parent === undefined) this.value = value;
    else if ('items' in parent) parent.items.push(value);
    // An assignment would set the prototype.
    else if (parent.name === '__proto__') {
      Object.defineProperty(parent.fields, parent.name, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    } else parent.fields[parent.name] = value;
    this.#place = 'more';
  }

  /** A number, or `true`, `false` or `null`. */
  #readScalar(): void {
    const start = this.#at;
    const most = Math.min(start + MAX_NUMBER_BYTES, this.#bytes.length);
    let end = start;
    for (; end < most; end += 1) {
      const byte = this.#bytes[end];
      if (byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || isSpace(byte)) break;
    }
    this.#at = end;
    const text = this.#bytes.toString('latin1', start, end);
    const value: unknown = JSON.parse(text);
    this.#add(value);
    const parent = this.#open.at(-1);
    if (parent === undefined || !isRounded(value, text)) return;
    if ('items' in parent) keepDigits(parent.items, String(parent.items.length - 1), text);
    else keepDigits(parent.fields, parent.name, text);
  }

  #beginText(): void {
    this.#at += 1;
    this.#text = '';
  }

  /** Reads on in a string, to its end or that of the step. */
  #readText(soFar: string): void {
    const bytes = this.#bytes;
    const start = this.#at;
    const most = Math.min(start + this.#left, bytes.length);
    let end = start;
    let isEscaped = false;
    let isAscii = true;
    let byte = bytes[end];
    for (; end < most && byte !== QUOTE; byte = bytes[end]) {
      if (byte === BACKSLASH) {
        isEscaped = true;
        // An escape is never cut, and a quote after a backslash does not end the string.
        end += bytes[end + 1] === LETTER_U ? 6 : 2;
        continue;
      }
      if (byte === undefined || byte < 0x20) throw notJson();
      if (byte >= 0x80) isAscii = false;
      end += 1;
    }
    // Also for an escape that the end of the document cuts.
    end = Math.min(end, bytes.length);
    while (isContinuation(bytes[end])) end += 1;
    const piece = bytes.toString(isAscii ? 'latin1' : 'utf8', start, end);
    const text = soFar + (isEscaped ? unescaped(piece) : piece);
    this.#left -= end - start;
    this.#at = end + 1;
    if (bytes[end] === QUOTE) return this.#endText(text);
    if (end >= bytes.length) throw notJson();
    this.#at = end;
    this.#text = text;
  }

  #endText(text: string): void {
    this.#text = null;
    const parent = this.#open.at(-1);
    if (parent !== undefined && 'fields' in parent && this.#place !== 'value') {
      parent.name = text;
      this.#place = 'colon';
    } else this.#add(text);
  }
}

function unescaped(piece: string): string {
  return String(JSON.parse(`"${piece}"`));
}

function tooLarge(): RangeError {
  return new RangeError('the JSON has too many values or nests too deeply');
}

function notJson(): SyntaxError {
  return new SyntaxError('the text is not JSON');
}
