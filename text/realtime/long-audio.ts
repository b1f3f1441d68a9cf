/**
 * Keeps long audio out of the JSON of events. Decoding, parsing and writing 14 MB of Base64 takes 0.1 s, in which no
 * other session is served.
 */
import { isAscii } from 'node:buffer';
import { randomUUID } from 'node:crypto';

/** Pieces of audio by the texts that stand for them in an event. */
export type LongAudio = ReadonlyMap<string, Buffer>;

export const NO_AUDIO: LongAudio = new Map();

/** Events that are shorter have no long audio. */
const MIN_BYTES = 64 * 1024;
const FIELD = '"audio"';
/** More than writers of JSON put around a name. */
const MAX_SPACE = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Replaces each long text in a field `audio` by a short text, which no client can guess. */
export function cutAudio(message: Buffer): { readonly message: Buffer; readonly longAudio: LongAudio } {
  if (message.length < MIN_BYTES) return { message, longAudio: NO_AUDIO };
  const mark = randomUUID();
  const kept: Buffer[] = [];
  const longAudio = new Map<string, Buffer>();
  let keptUntil = 0;
  for (let at = message.indexOf(FIELD); at !== -1; at = message.indexOf(FIELD, at + FIELD.length)) {
    const from = startOfAudio(message, at);
    const end = from === null ? -1 : message.indexOf(QUOTE, from);
    if (from === null || end - from < MIN_BYTES) continue;
    const audio = message.subarray(from, end);
    if (audio.includes(BACKSLASH) || !isAscii(audio)) continue;
    const name = `${mark}:${longAudio.size}:`;
    longAudio.set(name, audio);
    kept.push(message.subarray(keptUntil, from), Buffer.from(name));
    keptUntil = end;
    at = end;
  }
  if (longAudio.size === 0) return { message, longAudio: NO_AUDIO };
  return { message: Buffer.concat([...kept, message.subarray(keptUntil)]), longAudio };
}

/** Where the text after a name starts; null if the name is no field, or its value no text. */
function startOfAudio(message: Buffer, at: number): number | null {
  const before = message
    .toString('latin1', Math.max(at - MAX_SPACE, 0), at)
    .trimEnd()
    .at(-1);
  const start = /^"audio"\s*:\s*"/.exec(message.toString('latin1', at, at + MAX_SPACE));
  return start === null || (before !== '{' && before !== ',') ? null : at + start[0].length;
}

/** Writes an event with its long audio. */
export function writeEvent(event: object, longAudio: LongAudio): string | Buffer {
  const json = JSON.stringify(event);
  if (longAudio.size === 0) return json;
  const places = [...longAudio]
    .map(([name, audio]) => ({ name, audio, at: json.indexOf(name) }))
    .filter(({ at }) => at !== -1)
    .toSorted((one, other) => one.at - other.at);
  const parts: Buffer[] = [];
  let writtenUntil = 0;
  for (const { name, audio, at } of places) {
    parts.push(Buffer.from(json.slice(writtenUntil, at)), audio);
    writtenUntil = at + name.length;
  }
  return Buffer.concat([...parts, Buffer.from(json.slice(writtenUntil))]);
}

/** The bytes of the audio, which is Base64. */
export function bytesOfAudio(longAudio: LongAudio): number {
  let characters = 0;
  for (const { length } of longAudio.values()) characters += length;
  return Math.floor((characters * 3) / 4);
}
