/** Real servers on this machine for tests of outbound requests. */
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from './eventually.ts';
import { listenLocally, type LocalServer, serveLocally } from '../../lab/stack/local-server.ts';
import { useStarted } from './started.ts';

/** The authority that signed the certificate of {@link startTlsReceiver}. */
export const RECEIVER_AUTHORITY = readFixture('receiver-certificate.pem');
export const RECEIVER_NAME = 'receiver.example';

/** A receiver with a certificate for its name, by which its url calls it. */
export async function startTlsReceiver(listener: RequestListener): Promise<LocalServer> {
  const server = createHttpsServer({ cert: RECEIVER_AUTHORITY, key: readFixture('receiver-key.pem') }, listener);
  const receiver = await listenLocally(server);
  return { ...receiver, url: `https://${RECEIVER_NAME}:${receiver.port}` };
}

/** A server for the tests of the current suite. */
export function useLocalServer(listener: RequestListener): { readonly url: string } {
  return useStarted(async () => {
    const server = await serveLocally(listener);
    return { url: server.url, stop: () => server.close() };
  });
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
  /** Resolves when this many requests have arrived. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/** @param answer called with the number of the request, from 1, when the whole request has arrived */
export async function startRecordingReceiver(
  answer: (response: ServerResponse, number: number) => unknown,
): Promise<RecordingReceiver> {
  const requests: ReceivedRequest[] = [];
  const receiver = await serveLocally((incoming, response) => {
    const note = (body: string): unknown =>
      answer(response, requests.push({ path: incoming.url ?? '', headers: incoming.headers, body }));
    // A sender may leave before the end.
    void readText(incoming).then(note, () => response.destroy());
  });
  return {
    url: receiver.url,
    requests,
    close: () => receiver.close(),
    received: (count) =>
      waitUntil(
        async () => {
          if (requests.length < count) throw new Error(`${requests.length} of ${count} requests have arrived`);
        },
        { timeoutMs: PATIENCE_MS },
      ),
  };
}

function readFixture(name: string): string {
  return readFileSync(new URL(`../providers/guard/fixtures/${name}`, import.meta.url), 'utf8');
}
