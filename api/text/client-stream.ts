/** A streamed answer on its way to the client, at the client's pace. */
import type { ServerResponse } from 'node:http';

/** A whole event as text, or as the bytes of the upstream, which may also be a comment. */
export type Piece = string | Uint8Array;

const COLON = 0x3a;

export interface ClientStreamOptions {
  readonly contentType: string;
  /** What clients skip, sent when there was nothing to send for `keepAliveMs`; null when there is no such thing. */
  readonly keepAliveFrame: string | null;
  readonly keepAliveMs: number;
  /** A client that takes nothing for this long loses its connection. */
  readonly stallMs: number;
}

const STREAM_HEADERS = {
  'cache-control': 'no-cache',
  // Tells nginx in front not to collect the answer.
  'x-accel-buffering': 'no',
};

export class ClientStream {
  /** How many events were sent; comments are none. */
  eventCount = 0;
  readonly #response: ServerResponse;
  readonly #options: ClientStreamOptions;
  readonly #keepAlive: NodeJS.Timeout | null;

  constructor(response: ServerResponse, options: ClientStreamOptions) {
    this.#response = response;
    this.#options = options;
    const { keepAliveFrame, keepAliveMs } = options;
    this.#keepAlive =
      keepAliveFrame === null ? null : setTimeout(() => this.#breakSilence(keepAliveFrame), keepAliveMs);
  }

  /** Whether the client was sent anything, after which no other status can follow. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Whether the client is there no more; what is sent to it is dropped. */
  get isGone(): boolean {
    return this.#response.destroyed || this.#response.req.socket.destroyed;
  }

  /** Sends events. Resolves when the client has room for more, or is gone. */
  async send(pieces: readonly Piece[]): Promise<void> {
    if (this.isGone) return;
    this.#begin();
    this.#keepAlive?.refresh();
    let hasRoom = true;
    for (const piece of pieces) {
      hasRoom = this.#response.write(piece);
      if (piece[0] !== COLON) this.eventCount += 1;
    }
    if (!hasRoom && !this.isGone) await this.#drained();
  }

  /** Ends the stream in order, after a last event if there is one. */
  end(lastPiece?: Piece): void {
    this.stop();
    this.#begin();
    this.#response.end(lastPiece);
  }

  /** Breaks the connection off after what was sent, by which the client learns that the answer is not whole. */
  breakOff(): void {
    this.stop();
    this.#response.socket?.destroySoon();
  }

  /** Sends nothing more by itself. */
  stop(): void {
    if (this.#keepAlive !== null) clearTimeout(this.#keepAlive);
  }

  #begin(): void {
    if (this.#response.headersSent) return;
    this.#response.writeHead(200, { 'content-type': this.#options.contentType, ...STREAM_HEADERS });
  }

  #breakSilence(frame: string): void {
    if (this.isGone) return;
    this.#begin();
    if (!this.#response.writableNeedDrain) this.#response.write(frame);
    this.#keepAlive?.refresh();
  }

  /** A response that waits behind another on its connection is not told when that is closed, so the connection is watched. */
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
