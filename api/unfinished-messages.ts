/**
 * Bounds the bytes of messages on WebSockets that have not arrived whole, so that clients cannot fill the memory of a
 * process with them.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

export class UnfinishedMessages {
  /** How many bytes each connection had read when its last message was whole. */
  readonly #wholeAt = new Map<Socket, number>();
  readonly #maxBytes: number;

  /** @param maxBytes of all connections together */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts the messages of a client until its connection closes. */
  add(client: WebSocket, connection: Socket): void {
    const note = (): void => void this.#wholeAt.set(connection, connection.bytesRead);
    note();
    client.on('message', note);
    connection.once('close', () => this.#wholeAt.delete(connection));
  }

  /** Closes the connections with the largest unfinished messages until the bound holds. */
  enforce(): void {
    const unfinished = [...this.#wholeAt].map(([socket, wholeAt]) => ({ socket, bytes: socket.bytesRead - wholeAt }));
    let all = unfinished.reduce((sum, { bytes }) => sum + bytes, 0);
    if (all <= this.#maxBytes) return;
    for (const { socket, bytes } of unfinished.toSorted((one, other) => other.bytes - one.bytes)) {
      if (all <= this.#maxBytes) return;
      socket.destroy();
      all -= bytes;
    }
  }
}
