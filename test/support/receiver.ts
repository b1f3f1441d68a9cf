/** Real servers on this machine for tests of outbound requests. */
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { waitUntil } from '../../bin/stack/wait-until.ts';

export interface Receiver {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, or `https://receiver.example:<port>` with a certificate for that name. */
  readonly url: string;
  /** Number of connections accepted so far. */
  connections(): number;
  /** Waits until every connection accepted so far has been closed. */
  allClosed(): Promise<void>;
  close(): Promise<void>;
}

/** The authority that signed the certificate of {@link startTlsReceiver}. */
export const RECEIVER_AUTHORITY = readFixture('receiver-certificate.pem');
export const RECEIVER_NAME = 'receiver.example';

/** @param port that of a receiver that was closed before; a free one by default */
export async function startReceiver(listener: RequestListener, port = 0): Promise<Receiver> {
  return listen(createHttpServer(listener), (bound) => `http://127.0.0.1:${bound}`, port);
}

export async function startTlsReceiver(listener: RequestListener): Promise<Receiver> {
  const server = createHttpsServer({ cert: RECEIVER_AUTHORITY, key: readFixture('receiver-key.pem') }, listener);
  return listen(server, (port) => `https://${RECEIVER_NAME}:${port}`);
}

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RecordingReceiver {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Resolves when so many requests have arrived. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

const WAIT_MS = 30_000;

/** @param answer called with the number of the request, from 1, when all of it has arrived */
export async function startRecordingReceiver(
  answer: (response: ServerResponse, number: number) => unknown,
): Promise<RecordingReceiver> {
  const requests: ReceivedRequest[] = [];
  const listener: RequestListener = (incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const body = Buffer.concat(parts).toString();
      const number = requests.push({ path: incoming.url ?? '', headers: incoming.headers, body });
      answer(response, number);
    });
  };
  const receiver = await startReceiver(listener);
  return {
    url: receiver.url,
    requests,
    close: () => receiver.close(),
    received: (count) =>
      waitUntil(
        async () => {
          if (requests.length < count) throw new Error(`${requests.length} of ${count} requests have arrived`);
        },
        { timeoutMs: WAIT_MS },
      ),
  };
}

async function listen(server: Server, urlOf: (port: number) => string, port = 0): Promise<Receiver> {
  const ends: Promise<void>[] = [];
  server.on('connection', (socket: Socket) => {
    ends.push(new Promise((resolve) => socket.once('close', () => resolve())));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  return {
    port: address.port,
    url: urlOf(address.port),
    connections: () => ends.length,
    allClosed: async () => void (await Promise.all(ends)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readFixture(name: string): string {
  return readFileSync(new URL(`../net/fixtures/${name}`, import.meta.url), 'utf8');
}
