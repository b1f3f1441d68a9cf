/**
 * Bounds the bytes of messages on WebSockets that have not arrived whole, so that clients cannot fill the memory of a
 * process with them, and reads large messages by turns: `ws` copies a message in one go when its last bytes arrive.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { LARGE_BYTES, readInTurn } from '../services/realtime/large-messages.ts';
import { Peer } from '../services/realtime/peer.ts';

export class UnfinishedMessages {
  /** How many bytes each connection had read when its last message was whole. */
  readonly #wholeAt = new Map<Socket, number>();
  readonly #maxBytes: number;
  /** How long all connections have been read, in milliseconds. */
  #busyMs = 0;

  /** @param maxBytes of all connections together */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts the messages of a client until its connection closes. */
  add(client: WebSocket, connection: Socket): Peer {
    const peer = new Peer(client);
    const note = (): void => void this.#wholeAt.set(connection, connection.bytesRead);
    note();
    client.on('message', note);
    connection.once('close', () => this.#wholeAt.delete(connection));
    let startedAt = 0;
    // Before and after the listener of `ws`.
    connection.prependListener('data', () => void (startedAt = performance.now()));
    connection.on('data', () => {
      this.#busyMs += performance.now() - startedAt;
      if (this.#bytesOf(connection) <= LARGE_BYTES) return;
      peer.pause(this);
      readInTurn(
        () => peer.resume(this),
        () => this.#busyMs,
      );
    });
    return peer;
  }

  /** Closes the connections with the largest unfinished messages until the bound holds. */
  enforce(): void {
    const unfinished = [...this.#wholeAt.keys()].map((socket) => ({ socket, bytes: this.#bytesOf(socket) }));
    let all = unfinished.reduce((sum, { bytes }) => sum + bytes, 0);
    if (all <= this.#maxBytes) return;
    for (const { socket, bytes } of unfinished.toSorted((one, other) => other.bytes - one.bytes)) {
      if (all <= this.#maxBytes) return;
      socket.destroy();
      all -= bytes;
    }
  }

  /** The bytes of the unfinished message of a connection. */
  #bytesOf(connection: Socket): number {
    return connection.bytesRead - (this.#wholeAt.get(connection) ?? connection.bytesRead);
  }
}
