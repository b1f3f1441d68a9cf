/** HTTP servers on this machine: receivers of webhooks, and whatever else Genway calls. */
import { createServer, type RequestListener, type Server } from 'node:http';

export interface LocalServer {
  readonly port: number;
  readonly url: string;
  /** Number of connections accepted so far. */
  connections(): number;
  /** Waits until every connection accepted so far has been closed. */
  allClosed(): Promise<void>;
  /** Breaks the connections that are open. */
  close(): Promise<void>;
}

/** Serves HTTP. @param port that of a server that was closed before; a free one by default */
export async function serveLocally(listener: RequestListener, port = 0): Promise<LocalServer> {
  return listenLocally(createServer(listener), port);
}

export async function listenLocally(server: Server, port = 0): Promise<LocalServer> {
  const ends: Promise<void>[] = [];
  server.on('connection', (socket) => {
    ends.push(new Promise((resolve) => socket.once('close', () => resolve())));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    connections: () => ends.length,
    allClosed: async () => void (await Promise.all(ends)),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
