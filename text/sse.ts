/**
 * Server-sent events: bytes to events and back, after the WHATWG HTML standard, section 9.2 "Server-sent events". One
 * leniency: the last event counts even when the stream ends without the blank line after it.
 */
import { ServiceError } from '../domain/errors.ts';
import type { Emit, Stage } from './stage.ts';

export interface ServerSentEvent {
  /** The event's name, or null when it has none. */
  readonly event: string | null;
  readonly data: string;
}

/** The data of the event that ends a chat-completions stream. */
export const DONE = '[DONE]';

/** A comment: clients skip it, and it keeps idle connections open. */
export const COMMENT_FRAME = ': keep-alive\n\n';

const SHORT_PIECES_TO_JOIN = 1_024;
const DEFAULT_MAXIMUM_EVENT_LENGTH = 16 * 1024 * 1024;

/** The text of one event. */
export function encodeEvent(data: string, event: string | null = null): string {
  const name = event === null ? '' : `event: ${event}\n`;
  return `${name}data: ${data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data}\n\n`;
}

/**
 * The stage that turns the bytes of a stream, cut anywhere, into its events.
 *
 * @param maximumEventLength the most UTF-16 units that one event may hold; a longer one throws 503 `processing_failed`,
 *   so an upstream that never ends a line cannot fill the memory
 */
export function parseServerSentEvents(
  maximumEventLength: number = DEFAULT_MAXIMUM_EVENT_LENGTH,
): Stage<Uint8Array, ServerSentEvent> {
  return new ServerSentEventParser(maximumEventLength);
}

class ServerSentEventParser implements Stage<Uint8Array, ServerSentEvent> {
  readonly #maximumEventLength: number;
  readonly #decoder = new TextDecoder();
  /** The pieces of a line whose end has not come yet: joined once, so a long line in many reads stays linear. */
  #pieces: string[] = [];
  /** Short ones of them, which are joined from time to time: a piece costs more than its few characters. */
  #shortPieces: string[] = [];
  #event: string | null = null;
  #data: string[] = [];
  #piecesLength = 0;
  #dataLength = 0;
  /** The last text ended in CR: an LF that opens the next one belongs to it. */
  #afterCarriageReturn = false;

  constructor(maximumEventLength: number) {
    this.#maximumEventLength = maximumEventLength;
  }

  push(bytes: Uint8Array, emit: Emit<ServerSentEvent>): void {
    this.#read(this.#decoder.decode(bytes, { stream: true }), emit);
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
    throw new ServiceError('processing_failed', 'The model sent an event that is too long to read; try again.');
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
    if (field !== 'data') return;
    this.#data.push(value);
    // The line end counts too, so that endless empty lines are bounded as well.
    this.#dataLength += value.length + 1;
    this.#checkLength();
  }

  #dispatch(emit: Emit<ServerSentEvent>): void {
    const data = this.#data.length === 1 ? this.#data[0] : this.#data.join('\n');
    const event = this.#event;
    this.#data = [];
    this.#event = null;
    this.#dataLength = 0;
    if (data !== undefined && data !== '') emit({ event: event === '' ? null : event, data });
  }
}
