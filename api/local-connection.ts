/** A connection within the process, for requests that the process makes to its own HTTP server. */
import { Duplex } from 'node:stream';

/** Both ends of a new connection. @param remoteAddress the address of the client, as the server sees it */
export function connectLocally(remoteAddress: string | undefined): { readonly client: End; readonly server: End } {
  const client = new End(undefined);
  const server = new End(remoteAddress);
  client.other = server;
  server.other = client;
  return { client, server };
}

class End extends Duplex {
  readonly remoteAddress: string | undefined;
  other: End | null = null;
  /** Continues the other end, which waits until this end has read. */
  #continueOther: (() => void) | null = null;

  constructor(remoteAddress: string | undefined) {
    super();
    this.remoteAddress = remoteAddress;
  }

  /** Closes the connection once everything is written, like a socket. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  override _read(): void {
    this.#release();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    const { other } = this;
    if (other === null || other.destroyed) return callback();
    if (other.push(chunk)) return callback();
    other.#continueOther = callback;
  }

  override _final(callback: () => void): void {
    this.other?.push(null);
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#release();
    // The other end may still read what this end wrote.
    if (!this.writableFinished) this.other?.destroy();
    callback(error);
  }

  #release(): void {
    const continueOther = this.#continueOther;
    this.#continueOther = null;
    continueOther?.();
  }
}
