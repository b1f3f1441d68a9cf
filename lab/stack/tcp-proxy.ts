/** A TCP proxy whose connections can be made to fail in the ways in which networks fail. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

interface Target {
  readonly host: string;
  readonly port: number;
}

/** A connection: from a client, and on to the server. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The data of each side passes through these streams. */
  readonly toServer: Transform;
  readonly toClient: Transform;
}

/** @param target where connections lead; the url of a server, or `host:port` */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  return startTcpBalancer(() => [target]);
}

/**
 * Starts a proxy whose connections lead to several servers by turns.
 *
 * @param targets the servers that can serve a new connection, as urls or `host:port`; with none, a connection is refused
 * @param port on which it listens; 0: any
 */
export async function startTcpBalancer(targets: () => readonly string[], port = 0): Promise<TcpProxy> {
  let turn = 0;
  const proxy = new TcpProxy(() => {
    const candidates = targets();
    turn += 1;
    return targetOf(candidates[turn % candidates.length] ?? NOWHERE);
  });
  await proxy.listen(port);
  return proxy;
}

/** A port on which nobody listens. */
const NOWHERE = '127.0.0.1:1';

function targetOf(address: string): Target {
  const { hostname, port } = new URL(address.includes('://') ? address : `tcp://${address}`);
  return { host: hostname, port: Number(port) };
}

export class TcpProxy {
  readonly #target: () => Target;
  readonly #server: Server;
  readonly #open = new Set<Pair>();
  readonly #silent = new Set<Pair>();
  #delayMs = 0;
  #refusesNew = false;

  /** @param target is asked for each new connection */
  constructor(target: () => Target) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      if (!this.#refusesNew) return this.#join(client);
      client.on('error', () => {});
      client.resetAndDestroy();
    });
  }

  async listen(port: number): Promise<void> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening');
  }

  get port(): number {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the proxy listens on no port');
    return address.port;
  }

  /** The same url, over the proxy. */
  urlOf(text: string): string {
    const url = new URL(text);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    return url.href;
  }

  /** How many connections are open. */
  connections(): number {
    return this.#open.size;
  }

  /** Passes nothing more in either direction on open connections, without breaking them. */
  silence(): void {
    for (const pair of this.#open) {
      this.#silent.add(pair);
      for (const [from, to] of directions(pair)) from.unpipe(to).pause();
    }
  }

  /** Passes the data that silent connections held back. */
  release(): void {
    for (const pair of this.#silent) {
      this.#silent.delete(pair);
      if (pair.client.destroyed || pair.server.destroyed) destroy(pair);
      else for (const [from, to] of directions(pair)) from.pipe(to);
    }
  }

  /** From now on no answer passes on the connections that are open; what is sent to the server does. */
  swallowAnswers(): void {
    for (const { server, toClient } of this.#open) server.unpipe(toClient).resume();
  }

  /** From now on each piece of data takes that long, in either direction, on all connections; 0: no time. */
  delay(milliseconds: number): void {
    this.#delayMs = milliseconds;
  }

  /** Resets new connections from now on, or takes them again. */
  refuseNew(refuses = true): void {
    this.#refusesNew = refuses;
  }

  /** Breaks the connections that are open. */
  reset(): void {
    for (const { client, server } of this.#open) for (const each of [client, server]) each.resetAndDestroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => void this.#server.close(resolve));
    for (const pair of [...this.#open, ...this.#silent]) destroy(pair);
    await closed;
  }

  /** Connects a client with the server. */
  #join(client: Socket): void {
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

  #passage(): Transform {
    return new Transform({
      transform: (chunk, _encoding, done) => {
        if (this.#delayMs === 0) done(null, chunk);
        else setTimeout(done, this.#delayMs, null, chunk);
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
