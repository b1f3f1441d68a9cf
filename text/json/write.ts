/** Writes JSON; a large value in steps, between which other requests are served. */
import { digitsOf, hasDigits } from './exact.ts';
import { runInSteps, type Steps } from './steps.ts';

/** How many UTF-16 units a step writes: a few milliseconds of work. */
const PIECE_LENGTH = 512 * 1024;

/** Text in one piece, or bytes in several. */
export type WrittenJson = string | readonly Uint8Array[];

/** The output of `JSON.stringify` for a value other than undefined, with the digits of large integers as they were read. */
export async function writeJson(value: unknown): Promise<WrittenJson> {
  return isSimple(value) ? JSON.stringify(value) : runInSteps(writeInSteps(value));
}

/** {@link writeJson} of a small value, at once. */
export function jsonTextOf(value: unknown): string {
  return isSimple(value) ? JSON.stringify(value) : [...textsOf(value)].join('');
}

/** {@link writeJson}, always as bytes. */
export function* writeInSteps(value: unknown): Steps<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  let pending = '';
  for (const text of textsOf(value)) {
    pending += text;
    if (pending.length < PIECE_LENGTH) continue;
    pieces.push(Buffer.from(pending));
    pending = '';
    yield;
  }
  return [...pieces, Buffer.from(pending)];
}

/** {@link writeJson} as a line of JSON Lines, with its line break. */
export async function writeJsonLine(value: unknown): Promise<readonly Uint8Array[]> {
  const written = await writeJson(value);
  return typeof written === 'string' ? [Buffer.from(`${written}\n`)] : [...written, LINE_BREAK];
}

const LINE_BREAK = Buffer.from('\n');

/** The length of written JSON in bytes. */
export function byteLengthOf(written: WrittenJson): number {
  if (typeof written === 'string') return Buffer.byteLength(written);
  return written.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Whether `JSON.stringify` writes the value in one step, and as it was read. */
function isSimple(value: unknown): boolean {
  return lengthOf(value, PIECE_LENGTH) < PIECE_LENGTH;
}

/** The approximate length of a value's text; counting stops at `most`, also for a value with kept digits. */
function lengthOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  if (hasDigits(value)) return most;
  let length = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      length += 1 + lengthOf(item, most - length);
      if (length >= most) return most;
    }
    return length;
  }
  for (const name of Object.keys(value)) {
    length += name.length + 4 + lengthOf(Reflect.get(value, name), most - length);
    if (length >= most) return most;
  }
  return length;
}

function* textsOf(value: unknown): Generator<string, void, undefined> {
  if (isSimple(value)) yield JSON.stringify(value) ?? 'null';
  else if (typeof value === 'string') yield* textsOfString(value);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield index === 0 ? '[' : ',';
      yield* textsOfItem(value, String(index), item);
    }
    yield ']';
  } else {
    let separator = '{';
    const fields: object = Object(value);
    for (const [name, item] of Object.entries(fields)) {
      if (item === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* textsOfItem(fields, name, item);
      separator = ',';
    }
    yield '}';
  }
}

function* textsOfItem(parent: object, name: string, item: unknown): Generator<string, void, undefined> {
  const digits = digitsOf(parent, name, item);
  if (digits === undefined) yield* textsOf(item);
  else yield digits;
}

function* textsOfString(value: string): Generator<string, void, undefined> {
  yield '"';
  for (let start = 0; start < value.length;) {
    let end = Math.min(start + PIECE_LENGTH, value.length);
    // Keeps surrogate pairs together.
    if (end < value.length && /[\uDC00-\uDFFF]/.test(value.charAt(end))) end += 1;
    yield JSON.stringify(value.slice(start, end)).slice(1, -1);
    start = end;
  }
  yield '"';
}
