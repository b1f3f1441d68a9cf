/** Writes an answer no faster than its reader reads, and logs how it ended. */
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';

/** Smaller writes are joined: each is a chunk of the transfer and, at worst, a packet of its own. */
const BUFFER_LENGTH = 16 * 1024;

export class PacedWriter {
  readonly #response: ServerResponse;
  readonly #notes: Record<string, unknown>;
  #buffer = '';
  #encoding: BufferEncoding = 'utf8';
  #chunks = 0;
  #closed = false;
  #dropped = false;
  #wake: () => void = () => {};

  /** @param notes get `aborted`, whether the client left before the end, and `chunks`, the number written */
  constructor(response: ServerResponse, notes: Record<string, unknown>) {
    this.#response = response;
    this.#notes = notes;
    notes['aborted'] = false;
    notes['chunks'] = 0;
    response.once('close', () => {
      this.#closed = true;
      notes['aborted'] = !response.writableFinished && !this.#dropped;
      this.#wake();
    });
    response.on('drain', () => this.#wake());
  }

  /** Whether the client is still there. */
  get isOpen(): boolean {
    return !this.#closed;
  }

  start(status: number, headers: Readonly<Record<string, string>>, encoding: BufferEncoding = 'utf8'): void {
    this.#encoding = encoding;
    this.#response.writeHead(status, headers);
  }

  /** Sends a whole answer. */
  send(status: number, headers: Readonly<Record<string, string>>, body: string): void {
    this.start(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) });
    this.#response.end(body);
    this.#notes['chunks'] = 1;
  }

  /**
   * Adds to the answer.
   *
   * @param chunks the number of chunks of output
   * @returns whether it is time for a {@link flush}
   */
  add(text: string, chunks = 0): boolean {
    this.#buffer += text;
    this.#chunks += chunks;
    return this.#buffer.length >= BUFFER_LENGTH;
  }

  /** Sends what was added, and waits while the reader is behind. */
  async flush(): Promise<void> {
    const text = this.#buffer;
    this.#buffer = '';
    if (text === '' || this.#closed) return;
    const hasRoom = this.#response.write(text, this.#encoding);
    this.#notes['chunks'] = this.#chunks;
    if (!hasRoom) await this.#sleep();
  }

  /** Sends what was added and waits, until the reader leaves at the latest. */
  async pause(durationMs: number): Promise<void> {
    await this.flush();
    if (durationMs === 0 || this.#closed) return;
    const timer = setTimeout(() => this.#wake(), durationMs);
    await this.#sleep();
    clearTimeout(timer);
  }

  end(): void {
    this.#notes['chunks'] = this.#chunks;
    this.#response.end(this.#buffer, this.#encoding);
  }

  /** Breaks off the connection after what was added. */
  async drop(): Promise<void> {
    await this.flush();
    this.#dropped = true;
    this.#response.flushHeaders();
    // Node 24 sends a write only in the next tick.
    await setImmediate();
    this.#response.socket?.destroySoon();
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#closed) resolve();
    });
  }
}
