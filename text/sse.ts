/**
 * Server-sent events: bytes to events and back, as in the WHATWG HTML standard, section 9.2 "Server-sent events". The
 * reader is lenient where upstreams are sloppy: the last event counts even without a blank line after it, events without blank
 * lines between them are separated when their data is JSON, and an error as bare JSON is read as an event.
 */
import type { Emit, Stage } from './stage.ts';
import { AnswerTooLongError } from './upstream-errors.ts';

export interface ServerSentEvent {
  /** Null when the event has no name. */
  readonly event: string | null;
  /** Empty if the event was so long that it was parsed beforehand. */
  readonly data: string;
  /** The parsed data of such an event. */
  readonly json?: unknown;
}

/** The data of the event that ends a chat-completions stream. */
export const DONE = '[DONE]';

const PING = /^\{\s*"type"\s*:\s*"ping"/;

/** Whether an event has no more effect than a comment. */
export function isKeepAlive({ event, data }: ServerSentEvent): boolean {
  return event === 'ping' || PING.test(data);
}

/** A comment, which keeps idle connections open and which clients skip. */
export const COMMENT_FRAME = ': keep-alive\n\n';

const SHORT_PIECES_TO_JOIN = 1_024;
const DEFAULT_MAXIMUM_EVENT_LENGTH = 16 * 1024 * 1024;

/** The text of one event. */
export function encodeEvent(data: string, event: string | null = null): string {
  const name = event === null ? '' : `event: ${event}\n`;
  return `${name}data: ${data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data}\n\n`;
}

/**
 * The stage that turns the bytes of a stream, in any pieces, into events.
 *
 * @param maximumEventLength the most UTF-16 units in one event; a longer one throws 503 `processing_failed`, so that an
 *   upstream that never ends a line cannot fill the memory
 */
export function parseServerSentEvents(
  maximumEventLength: number = DEFAULT_MAXIMUM_EVENT_LENGTH,
): ServerSentEventParser {
  return new ServerSentEventParser(maximumEventLength);
}

const FIELDS = new Set(['data', 'event', 'id', 'retry']);

class ServerSentEventParser implements Stage<Uint8Array, ServerSentEvent> {
  /** How many lines so far clients would misread or skip. */
  strayLineCount = 0;
  readonly #maximumEventLength: number;
  readonly #decoder = new TextDecoder();
  /** The pieces of an unfinished line, joined once, so that a long line in many reads takes linear time. */
  #pieces: string[] = [];
  /** Short pieces, which are joined occasionally: each piece costs more than its few characters. */
  #shortPieces: string[] = [];
  #event: string | null = null;
  #data: string[] = [];
  /** The event name before each line of data. */
  #names: (string | null)[] = [];
  #piecesLength = 0;
  #dataLength = 0;
  /** Whether the last text ended in CR, so that an LF at the start of the next one belongs to it. */
  #afterCarriageReturn = false;

  constructor(maximumEventLength: number) {
    this.#maximumEventLength = maximumEventLength;
  }

  push(bytes: Uint8Array, emit: Emit<ServerSentEvent>): void {
    this.#read(this.#decoder.decode(bytes, { stream: true }), emit);
  }

  /** Like {@link push}, in half the time, for bytes that end with a line and cut no character. */
  pushLines(bytes: Buffer, emit: Emit<ServerSentEvent>): void {
    this.#read(bytes.toString(), emit);
  }

  end(emit: Emit<ServerSentEvent>): void {
    this.#read(this.#decoder.decode(), emit);
    if (this.#piecesLength > 0) this.#takeLine('', emit);
    this.#dispatch(emit);
  }

  #read(text: string, emit: Emit<ServerSentEvent>): void {
    if (text === '') return;
    let start = this.#afterCarriageReturn && text.startsWith('\n') ? 1 : 0;
    this.#afterCarriageReturn = text.endsWith('\r');
    let nextReturn = text.indexOf('\r', start);
    let nextFeed = text.indexOf('\n', start);
    while (nextReturn !== -1 || nextFeed !== -1) {
      const atReturn = nextFeed === -1 || (nextReturn !== -1 && nextReturn < nextFeed);
      const end = atReturn ? nextReturn : nextFeed;
      this.#takeLine(text.slice(start, end), emit);
      start = atReturn && nextFeed === end + 1 ? end + 2 : end + 1;
      if (nextReturn !== -1 && nextReturn < start) nextReturn = text.indexOf('\r', start);
      if (nextFeed !== -1 && nextFeed < start) nextFeed = text.indexOf('\n', start);
    }
    if (start === text.length) return;
    this.#shortPieces.push(text.slice(start));
    if (this.#shortPieces.length === SHORT_PIECES_TO_JOIN) this.#joinShortPieces();
    this.#piecesLength += text.length - start;
    this.#checkLength();
  }

  #joinShortPieces(): void {
    this.#pieces.push(this.#shortPieces.join(''));
    this.#shortPieces = [];
  }

  #checkLength(): void {
    if (this.#piecesLength + this.#dataLength <= this.#maximumEventLength) return;
    throw new AnswerTooLongError();
  }

  #takeLine(lastPiece: string, emit: Emit<ServerSentEvent>): void {
    let line = lastPiece;
    if (this.#piecesLength > 0) {
      this.#joinShortPieces();
      line = this.#pieces.join('') + lastPiece;
      this.#pieces = [];
      this.#piecesLength = 0;
    }
    if (line === '') return this.#dispatch(emit);
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') this.#event = value;
    else if (field === 'data') this.#takeData(value);
    else if (!FIELDS.has(field)) this.#takeStrayLine(line);
  }

  #takeData(value: string): void {
    this.#data.push(value);
    this.#names.push(this.#event);
    // Line ends count too, so that endless empty lines are also bounded.
    this.#dataLength += value.length + 1;
    this.#checkLength();
  }

  /** Text that belongs to no event. An error in it must not go unnoticed. */
  #takeStrayLine(line: string): void {
    this.strayLineCount += 1;
    if (line.startsWith('{') && line.includes('"error"')) this.#takeData(line);
  }

  #dispatch(emit: Emit<ServerSentEvent>): void {
    const [lines, names, event] = [this.#data, this.#names, this.#event];
    const [first] = lines;
    this.#data = [];
    this.#names = [];
    this.#event = null;
    this.#dataLength = 0;
    if (first === undefined) return;
    if (lines.length > 1 && isJson(first)) {
      this.strayLineCount += 1;
      return lines.forEach((data, index) => emitEvent(names[index] ?? null, data, emit));
    }
    emitEvent(event, lines.length === 1 ? first : lines.join('\n'), emit);
  }
}

function emitEvent(event: string | null, data: string, emit: Emit<ServerSentEvent>): void {
  if (data !== '') emit({ event: event === '' ? null : event, data });
}

/** Whether a line is a complete JSON object, so that the next line cannot continue it. */
function isJson(line: string): boolean {
  if (!line.startsWith('{')) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
