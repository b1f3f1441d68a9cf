import { createServer, type RequestListener } from 'node:http';

export interface LocalServer {
  readonly url: string;
  /** Breaks the connections that are open. */
  close(): Promise<void>;
}

/** Serves HTTP on a free port of this machine. */
export async function serveLocally(listener: RequestListener): Promise<LocalServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
