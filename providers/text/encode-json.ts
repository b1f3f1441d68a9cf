/** Writes JSON; a large value piece by piece, with a pause after each, so that meanwhile others are served. */
import { setImmediate } from 'node:timers/promises';

/** What is written without a pause, in UTF-16 units: a few milliseconds' worth. */
const PIECE_LENGTH = 512 * 1024;

/** The same text as that of `JSON.stringify`, as bytes where there is much of it. */
export async function encodeJson(value: unknown): Promise<string | Buffer> {
  if (lengthOf(value, PIECE_LENGTH) < PIECE_LENGTH) return JSON.stringify(value);
  const pieces: Buffer[] = [];
  let pending = '';
  for (const text of textsOf(value)) {
    pending += text;
    if (pending.length < PIECE_LENGTH) continue;
    pieces.push(Buffer.from(pending));
    pending = '';
    await setImmediate();
  }
  return Buffer.concat([...pieces, Buffer.from(pending)]);
}

/** About how much text a value is; counted no further than `most`. */
function lengthOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  let length = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      length += 1 + lengthOf(item, most - length);
      if (length >= most) return most;
    }
    return length;
  }
  for (const [name, item] of Object.entries(value)) {
    length += name.length + 4 + lengthOf(item, most - length);
    if (length >= most) return most;
  }
  return length;
}

function* textsOf(value: unknown): Generator<string, void, undefined> {
  if (lengthOf(value, PIECE_LENGTH) < PIECE_LENGTH) yield JSON.stringify(value) ?? 'null';
  else if (typeof value === 'string') yield* textsOfString(value);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield index === 0 ? '[' : ',';
      yield* textsOf(item);
    }
    yield ']';
  } else {
    let separator = '{';
    for (const [name, item] of Object.entries(Object(value))) {
      if (item === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* textsOf(item);
      separator = ',';
    }
    yield '}';
  }
}

function* textsOfString(value: string): Generator<string, void, undefined> {
  yield '"';
  for (let start = 0; start < value.length;) {
    let end = Math.min(start + PIECE_LENGTH, value.length);
    // The halves of a pair stay together.
    if (end < value.length && /[\uDC00-\uDFFF]/.test(value.charAt(end))) end += 1;
    yield JSON.stringify(value.slice(start, end)).slice(1, -1);
    start = end;
  }
  yield '"';
}
