/** Streams an answer to the client, at the client's pace. */
import type { ServerResponse } from 'node:http';

/** A whole event, as text or as the upstream's bytes; it may be a comment. */
export type Piece = string | Uint8Array;

export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8';

const COLON = 0x3a;

export interface ClientStreamOptions {
  readonly contentType: string;
  /** The frame that clients ignore, sent after `keepAliveMs` of silence; null if the format has none. */
  readonly renderKeepAlive: ((eventCount: number) => string) | null;
  readonly keepAliveMs: number;
  /** A client that accepts no data for this long is disconnected. */
  readonly stallMs: number;
}

const STREAM_HEADERS = {
  'cache-control': 'no-cache',
  // Prevents an nginx proxy from buffering the answer.
  'x-accel-buffering': 'no',
};

export class ClientStream {
  /** The number of events sent, not counting comments. */
  eventCount = 0;
  readonly #response: ServerResponse;
  readonly #options: ClientStreamOptions;
  readonly #keepAlive: NodeJS.Timeout | null;

  constructor(response: ServerResponse, options: ClientStreamOptions) {
    this.#response = response;
    this.#options = options;
    const { renderKeepAlive, keepAliveMs } = options;
    this.#keepAlive =
      renderKeepAlive === null
        ? null
        : setTimeout(() => this.#breakSilence(renderKeepAlive(this.eventCount)), keepAliveMs);
  }

  /** Whether anything was sent, after which the status is fixed. */
  get hasStarted(): boolean {
    return this.#response.headersSent;
  }

  /** Whether the client has disconnected; `send` then drops all events. */
  get isGone(): boolean {
    return this.#response.destroyed || this.#response.req.socket.destroyed;
  }

  /** Sends events. Resolves when the client can accept more, or has disconnected. */
  async send(pieces: readonly Piece[]): Promise<void> {
    if (this.isGone) return;
    this.#start();
    this.#keepAlive?.refresh();
    for (const piece of pieces) if (piece[0] !== COLON) this.eventCount += 1;
    const hasRoom = this.#response.write(joined(pieces));
    if (!hasRoom && !this.isGone) await this.#drained();
  }

  /** Ends the stream properly, after a last event if there is one. */
  end(lastPiece?: Piece): void {
    this.stop();
    this.#start();
    this.#response.end(lastPiece);
  }

  /** Breaks the connection, so that the client notices that the answer is incomplete. */
  breakOff(): void {
    this.stop();
    // Node 24 sends a write only in the next tick.
    setImmediate(() => this.#response.socket?.destroySoon());
  }

  /** Stops keep-alives. */
  stop(): void {
    if (this.#keepAlive !== null) clearTimeout(this.#keepAlive);
  }

  #start(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, { 'content-type': this.#options.contentType, ...STREAM_HEADERS });
  }

  #breakSilence(frame: string): void {
    if (this.isGone) return;
    this.#start();
    if (!this.#response.writableNeedDrain) this.#response.write(frame);
    this.#keepAlive?.refresh();
  }

  /**
   * Watches the connection itself: a response that waits behind another one gets no event when the connection closes.
   */
  #drained(): Promise<void> {
    const response = this.#response;
    const { socket } = response.req;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(stalled);
        response.off('drain', done);
        socket.off('close', done);
        resolve();
      };
      const stalled = setTimeout(() => {
        socket.destroy();
        done();
      }, this.#options.stallMs);
      response.on('drain', done);
      socket.on('close', done);
    });
  }
}

/** Joins the pieces, since each write costs about as much as converting an event. */
function joined(pieces: readonly Piece[]): Piece {
  const [first = ''] = pieces;
  if (pieces.length < 2) return first;
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('');
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}
