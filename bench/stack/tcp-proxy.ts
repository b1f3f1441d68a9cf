/** A TCP proxy whose connections can be made to fail in the ways in which networks fail. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface TcpProxy {
  readonly port: number;
  /** The same url, over the proxy. */
  urlOf(url: string): string;
  /** How many connections are open. */
  connections(): number;
  /** Passes nothing more in either direction on open connections, without breaking them. */
  silence(): void;
  /** What was held back on silent connections passes after all. */
  release(): void;
  /** From now on no answer passes on the connections that are open; what is sent to the server does. */
  swallowAnswers(): void;
  /** From now on each piece of data takes that long, in either direction, on all connections; 0: no time. */
  delay(milliseconds: number): void;
  /** Resets new connections from now on, or takes them again. */
  refuseNew(refuses?: boolean): void;
  /** Breaks the connections that are open. */
  reset(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** What goes from the one to the other passes here. */
  readonly toServer: Transform;
  readonly toClient: Transform;
}

/** @param target where connections lead; the url of a server, or `host:port` */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target.includes('://') ? target : `tcp://${target}`);
  const pairs = new Set<Pair>();
  const silent = new Set<Pair>();
  let delayMs = 0;
  let refusesNew = false;
  const passage = (): Transform =>
    new Transform({
      transform: (chunk, _encoding, done) => {
        if (delayMs === 0) done(null, chunk);
        else setTimeout(done, delayMs, null, chunk);
      },
    });

  function join(client: Socket): void {
    const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const pair: Pair = { client, server: upstream, toServer: passage(), toClient: passage() };
    pairs.add(pair);
    client.pipe(pair.toServer).pipe(upstream);
    upstream.pipe(pair.toClient).pipe(client);
    for (const socket of [client, upstream]) {
      // The other side learns of it by the close.
      socket.on('error', () => {});
      socket.on('close', () => {
        // What a silent network does not pass on it does not pass on.
        if (!silent.has(pair)) destroy(pair);
        pairs.delete(pair);
      });
    }
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (!refusesNew) return join(client);
    client.on('error', () => {});
    client.resetAndDestroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  const ownPort = portOf(server.address());

  return {
    port: ownPort,
    urlOf: (text) => {
      const url = new URL(text);
      url.hostname = '127.0.0.1';
      url.port = String(ownPort);
      return url.href;
    },
    connections: () => pairs.size,
    silence: () => {
      for (const pair of pairs) {
        silent.add(pair);
        for (const [from, to] of directions(pair)) from.unpipe(to).pause();
      }
    },
    release: () => {
      for (const pair of silent) {
        silent.delete(pair);
        if (pair.client.destroyed || pair.server.destroyed) destroy(pair);
        else for (const [from, to] of directions(pair)) from.pipe(to);
      }
    },
    swallowAnswers: () => {
      for (const { server: upstream, toClient } of pairs) upstream.unpipe(toClient).resume();
    },
    delay: (milliseconds) => {
      delayMs = milliseconds;
    },
    refuseNew: (refuses = true) => {
      refusesNew = refuses;
    },
    reset: () => {
      for (const { client, server: upstream } of pairs) for (const each of [client, upstream]) each.resetAndDestroy();
    },
    close: async () => {
      server.close();
      for (const pair of [...pairs, ...silent]) destroy(pair);
      await closed;
    },
  };
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

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== 'object' || address === null) throw new Error('the proxy listens on no port');
  return address.port;
}
