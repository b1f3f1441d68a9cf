/** The plain sentences with which any client can script an answer without directives. */

/** The request of a message in plain words. */
export type PlainWish =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'call'; readonly calls: readonly WishedCall[] };

export interface WishedCall {
  readonly name: string;
  /** JSON text of an object, unchanged. */
  readonly arguments: string;
}

const BEGINNING = /Say exactly: ?|\bCall (?=\S+ with \{)/i;
const CALL_HEAD = /(\S+) with (?=\{)/y;
const NEXT_CALL = ' and ';

/**
 * Reads `Say exactly: X`, X being all the rest, or `Call NAME with {json} and NAME with {json}`, whichever comes first.
 *
 * @returns null when the message holds neither
 */
export function readPlainWish(message: string): PlainWish | null {
  const match = BEGINNING.exec(message);
  if (match === null) return null;
  const at = match.index + match[0].length;
  if (match[0].toLowerCase().startsWith('say')) return { kind: 'say', text: message.slice(at) };
  const calls = readCalls(message, at);
  return calls.length === 0 ? null : { kind: 'call', calls };
}

function readCalls(message: string, start: number): readonly WishedCall[] {
  const calls: WishedCall[] = [];
  for (let at = start; ;) {
    CALL_HEAD.lastIndex = at;
    const [, name] = CALL_HEAD.exec(message) ?? [];
    if (name === undefined) return calls;
    const written = objectAt(message, CALL_HEAD.lastIndex);
    if (written === null) return calls;
    const end = CALL_HEAD.lastIndex + written.length;
    calls.push({ name, arguments: written });
    if (!message.startsWith(NEXT_CALL, end)) return calls;
    at = end + NEXT_CALL.length;
  }
}

/** The JSON object that starts there, as written; null if there is none. */
function objectAt(text: string, start: number): string | null {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth += 1;
    else if (character === '}') {
      depth -= 1;
      if (depth === 0) return jsonOrNull(text.slice(start, at + 1));
    }
  }
  return null;
}

function jsonOrNull(text: string): string | null {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return null;
  }
}
