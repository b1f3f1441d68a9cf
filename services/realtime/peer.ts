/** One end of a session: handles its messages one after the other, and bounds what waits to be sent to it. */
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { handleInTurn, LARGE_BYTES, readByTurns } from './large-messages.ts';

/** While more than this waits for a peer, the other peer is not read. */
const HIGH_WATER_BYTES = 1024 * 1024;
const LOW_WATER_BYTES = 256 * 1024;

/** Handles a message. The next message waits for the promise. */
type HandleMessage = (message: Buffer) => void | Promise<void>;

export class Peer {
  readonly #socket: WebSocket;
  readonly #unfinishedBytes: () => number;
  readonly #queue: Buffer[] = [];
  readonly #pauses = new Set<unknown>();
  /** The peers that are not read until this peer accepts more. */
  readonly #held = new Set<Peer>();
  #isBusy = false;
  #wasHeard = true;
  /** Whether the peer accepted data since the last ping. */
  #hasAccepted = true;

  /** @param connection the connection below the socket */
  constructor(socket: WebSocket, connection: Socket) {
    this.#socket = socket;
    this.#unfinishedBytes = readByTurns(socket, connection, this);
  }

  /** The bytes of the message that has not arrived whole. */
  get unfinishedBytes(): number {
    return this.#unfinishedBytes();
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** @param onFailure called if handling a message throws */
  listen(handle: HandleMessage, onClose: (code: number) => void, onFailure: (error: unknown) => void): void {
    const socket = this.#socket;
    socket.on('error', () => undefined);
    socket.on('pong', () => {
      this.#wasHeard = true;
    });
    socket.on('close', (code: number) => {
      this.#release();
      onClose(code);
    });
    socket.on('message', (data) => {
      this.#wasHeard = true;
      this.#queue.push(toBuffer(data));
      if (!this.#isBusy) void this.#work(handle).catch(onFailure);
    });
  }

  /** @param from not read while this peer is slow */
  send(data: string | Buffer, from?: Peer): void {
    if (!this.isOpen) return;
    this.#socket.send(data, { binary: false }, () => {
      this.#hasAccepted = true;
      if (this.#held.size > 0 && this.#socket.bufferedAmount <= LOW_WATER_BYTES) this.#release();
    });
    if (from === undefined || this.#socket.bufferedAmount <= HIGH_WATER_BYTES) return;
    this.#held.add(from);
    from.pause(this);
  }

  /** Sends a message. Resolves when the connection has taken it, or is closed. */
  deliver(data: string): Promise<void> {
    if (!this.isOpen) return Promise.resolve();
    return new Promise((resolve) => this.#socket.send(data, () => resolve()));
  }

  /** Stops reading until {@link resume} with the same reason. */
  pause(reason: unknown): void {
    this.#pauses.add(reason);
    if (this.isOpen) this.#socket.pause();
  }

  resume(reason: unknown): void {
    if (!this.#pauses.delete(reason) || this.#pauses.size > 0) return;
    this.#wasHeard = true;
    this.#socket.resume();
  }

  /**
   * Sends a ping, unless the peer is gone: it accepted nothing of what waited for it since the last ping, or was silent
   * while it was read.
   *
   * @returns false for a peer that is gone
   */
  ping(): boolean {
    if (!this.isOpen) return true;
    const hasWaiting = this.#socket.bufferedAmount > 0;
    const isSilent = !this.#wasHeard && this.#pauses.size === 0;
    // A slow peer reads a ping only after all that was sent before. A stopped one may go on to send.
    if (hasWaiting ? !this.#hasAccepted : isSilent) return false;
    this.#hasAccepted = !hasWaiting;
    this.#wasHeard = false;
    this.#socket.ping();
    return true;
  }

  /** Closes the connection, and cuts it off if the peer does not answer in time. */
  close(code: number, reason = ''): void {
    this.#release();
    // The answer must be read.
    this.#pauses.clear();
    if (this.#socket.isPaused) this.#socket.resume();
    this.#socket.close(code, reason);
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
    this.#socket.once('close', () => clearTimeout(timer));
    if (this.#socket.readyState === WebSocket.CLOSED) clearTimeout(timer);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  async #work(handle: HandleMessage): Promise<void> {
    this.#isBusy = true;
    try {
      for (let message = this.#queue.shift(); message !== undefined; message = this.#queue.shift()) {
        const handled = message.length < LARGE_BYTES ? handle(message) : handleInTurn(message, handle);
        if (handled === undefined) continue;
        this.pause(this.#queue);
        try {
          await handled;
        } finally {
          this.resume(this.#queue);
        }
      }
    } finally {
      this.#isBusy = false;
    }
  }

  #release(): void {
    for (const peer of this.#held) peer.resume(this);
    this.#held.clear();
  }
}

const CLOSE_TIMEOUT_MS = 5_000;

function toBuffer(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
