/**
 * Bounds the bytes of messages on WebSockets that have not arrived whole, so that clients cannot fill the memory of a
 * process with them.
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { Peer } from '../services/realtime/peer.ts';

export class UnfinishedMessages {
  readonly #peers = new Set<Peer>();
  readonly #maxBytes: number;

  /** @param maxBytes of all connections together */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts the messages of a client until its connection closes. */
  add(client: WebSocket, connection: Socket): Peer {
    const peer = new Peer(client, connection);
    this.#peers.add(peer);
    connection.once('close', () => this.#peers.delete(peer));
    return peer;
  }

  /** Closes the connections with the largest unfinished messages until the bound holds. */
  enforce(): void {
    const unfinished = [...this.#peers].map((peer) => ({ peer, bytes: peer.unfinishedBytes }));
    let all = unfinished.reduce((sum, { bytes }) => sum + bytes, 0);
    if (all <= this.#maxBytes) return;
    for (const { peer, bytes } of unfinished.toSorted((one, other) => other.bytes - one.bytes)) {
      if (all <= this.#maxBytes) return;
      peer.terminate();
      all -= bytes;
    }
  }
}
