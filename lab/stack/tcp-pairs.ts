/** The connections of a TCP proxy, each from a client and on to the server, and what can be done to them. */
import { connect, type Socket } from 'node:net';
import { Transform } from 'node:stream';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The data of each side passes through these streams. */
  readonly toServer: Transform;
  readonly toClient: Transform;
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

export class TcpPairs {
  /** How long each piece of data takes, in either direction. */
  delayMs = 0;
  readonly #target: () => Target;
  readonly #open = new Set<Pair>();
  readonly #silent = new Set<Pair>();

  /** @param target is asked for each new connection */
  constructor(target: () => Target) {
    this.#target = target;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Connects a client with the server. */
  join(client: Socket): void {
    const server = connect({ ...this.#target(), allowHalfOpen: true });
    const pair: Pair = { client, server, toServer: this.#passage(), toClient: this.#passage() };
    this.#open.add(pair);
    client.pipe(pair.toServer).pipe(server);
    server.pipe(pair.toClient).pipe(client);
    for (const socket of [client, server]) {
      // The other side learns of it by the close.
      socket.on('error', () => {});
      socket.on('close', () => {
        // A silent network does not pass a close on, either.
        if (!this.#silent.has(pair)) destroy(pair);
        this.#open.delete(pair);
      });
    }
  }

  silence(): void {
    for (const pair of this.#open) {
      this.#silent.add(pair);
      for (const [from, to] of directions(pair)) from.unpipe(to).pause();
    }
  }

  release(): void {
    for (const pair of this.#silent) {
      this.#silent.delete(pair);
      if (pair.client.destroyed || pair.server.destroyed) destroy(pair);
      else for (const [from, to] of directions(pair)) from.pipe(to);
    }
  }

  swallowAnswers(): void {
    for (const { server, toClient } of this.#open) server.unpipe(toClient).resume();
  }

  reset(): void {
    for (const { client, server } of this.#open) for (const each of [client, server]) each.resetAndDestroy();
  }

  destroy(): void {
    for (const pair of [...this.#open, ...this.#silent]) destroy(pair);
  }

  #passage(): Transform {
    return new Transform({
      transform: (chunk, _encoding, done) => {
        if (this.delayMs === 0) done(null, chunk);
        else setTimeout(done, this.delayMs, null, chunk);
      },
    });
  }
}

function destroy({ client, server, toServer, toClient }: Pair): void {
  for (const each of [client, server, toServer, toClient]) each.destroy();
}

function directions({ client, server, toServer, toClient }: Pair): readonly (readonly [Socket, Transform])[] {
  return [
    [client, toServer],
    [server, toClient],
  ];
}
