/** A TCP proxy whose connections can be made to fail in the ways in which networks fail. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { type Target, TcpPairs } from './tcp-pairs.ts';

export interface TcpProxy {
  readonly port: number;
  /** The same url, over the proxy. */
  urlOf(url: string): string;
  /** How many connections are open. */
  connections(): number;
  /** Passes nothing more in either direction on open connections, without breaking them. */
  silence(): void;
  /** Passes the data that silent connections held back. */
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

/** @param target where connections lead; the url of a server, or `host:port` */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  return startProxy(() => targetOf(target));
}

/**
 * Starts a proxy whose connections lead to several servers by turns.
 *
 * @param targets the servers that can serve a new connection, as urls or `host:port`; with none, a connection is refused
 * @param port on which it listens; 0: any
 */
export async function startTcpBalancer(targets: () => readonly string[], port = 0): Promise<TcpProxy> {
  let turn = 0;
  const next = (): Target => {
    const candidates = targets();
    turn += 1;
    return targetOf(candidates[turn % candidates.length] ?? NOWHERE);
  };
  return startProxy(next, port);
}

/** A port on which nobody listens. */
const NOWHERE = '127.0.0.1:1';

function targetOf(address: string): Target {
  const { hostname, port } = new URL(address.includes('://') ? address : `tcp://${address}`);
  return { host: hostname, port: Number(port) };
}

async function startProxy(target: () => Target, port = 0): Promise<TcpProxy> {
  const pairs = new TcpPairs(target);
  let refusesNew = false;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (!refusesNew) return pairs.join(client);
    client.on('error', () => {});
    client.resetAndDestroy();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
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
    silence: () => pairs.silence(),
    release: () => pairs.release(),
    swallowAnswers: () => pairs.swallowAnswers(),
    delay: (milliseconds) => {
      pairs.delayMs = milliseconds;
    },
    refuseNew: (refuses = true) => {
      refusesNew = refuses;
    },
    reset: () => pairs.reset(),
    close: async () => {
      server.close();
      pairs.destroy();
      await closed;
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== 'object' || address === null) throw new Error('the proxy listens on no port');
  return address.port;
}
