/** A TCP proxy whose connections can be made to fail in the ways in which networks fail. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** The same url, over the proxy. */
  urlOf(url: string): string;
  /** How many connections are open. */
  connections(): number;
  /** From now on nothing passes on the connections that are open, in either direction, and none of them breaks. */
  silence(): void;
  /** What was held back on silent connections passes after all. */
  release(): void;
  /** From now on no answer passes on the connections that are open; what is sent to the server does. */
  swallowAnswers(): void;
  /** Takes no new connections from now on. */
  refuseNew(): void;
  /** Breaks the connections that are open. */
  reset(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** @param target where connections lead; the url of a server, or `host:port` */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target.includes('://') ? target : `tcp://${target}`);
  const pairs = new Set<Pair>();
  const silent = new Set<Pair>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const pair: Pair = { client, server: upstream };
    pairs.add(pair);
    client.pipe(upstream);
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      // The other side learns of it by the close.
      socket.on('error', () => {});
      socket.on('close', () => {
        // What a silent network does not pass on it does not pass on.
        if (!silent.has(pair)) for (const each of [client, upstream]) each.destroy();
        pairs.delete(pair);
      });
    }
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
        for (const [from, to] of directions(pair)) from.pipe(to);
      }
    },
    swallowAnswers: () => {
      for (const { client, server: upstream } of pairs) upstream.unpipe(client).resume();
    },
    refuseNew: () => void server.close(),
    reset: () => {
      for (const { client, server: upstream } of pairs) for (const each of [client, upstream]) each.resetAndDestroy();
    },
    close: async () => {
      server.close();
      for (const pair of [...pairs, ...silent]) for (const each of [pair.client, pair.server]) each.destroy();
      await closed;
    },
  };
}

function directions({ client, server }: Pair): readonly (readonly [Socket, Socket])[] {
  return [
    [client, server],
    [server, client],
  ];
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== 'object' || address === null) throw new Error('the proxy listens on no port');
  return address.port;
}
