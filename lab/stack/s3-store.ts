/** An S3 server that can fail in two ways: by answering 503, or by not answering. */
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { serveLocally } from './local-server.ts';
import { startS3Server } from './s3-server.ts';
import type { Settings } from './stack.ts';

export type Door = 'open' | 'refusing' | 'hanging';

export interface S3Store {
  /** The settings of processes that use it. */
  readonly settings: Settings;
  /** Requests that wait at a hanging door are refused when it is set again. */
  setDoor(door: Door): void;
  close(): Promise<void>;
}

const BUCKET = 'genway-results';
const REGION = 'us-east-1';
const SLOW_DOWN = '<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>';
/** The server looks at no signature, as long as there is one. */
const ANYBODY = `AWS4-HMAC-SHA256 Credential=genway/20260101/${REGION}/s3/aws4_request, SignedHeaders=host, Signature=00`;
const CREDENTIALS = { accessKeyId: 'genway', secretAccessKey: 'genway-secret' };

export async function openS3Store(): Promise<S3Store> {
  const server = await startS3Server();
  const target = new URL(server.endpoint);
  await fetch(`${server.endpoint}/${BUCKET}`, { method: 'PUT', headers: { authorization: ANYBODY } });
  let door: Door = 'open';
  const waiting = new Set<ServerResponse>();

  const front = await serveLocally((incoming, response) => {
    if (door === 'open') {
      void pass(incoming, response, target).catch(() => response.destroy());
      return;
    }
    // The body is still read, as a store in trouble does.
    incoming.resume();
    if (door === 'hanging') waiting.add(response);
    else response.writeHead(503, { 'content-type': 'application/xml' }).end(SLOW_DOWN);
  });
  return {
    settings: {
      GENWAY_S3_BUCKET: BUCKET,
      AWS_REGION: REGION,
      GENWAY_S3_ENDPOINT: front.url,
      GENWAY_S3_PUBLIC_URL: `${front.url}/${BUCKET}`,
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    },
    setDoor: (next) => {
      door = next;
      for (const response of waiting) response.destroy();
      waiting.clear();
    },
    close: async () => {
      await front.close();
      await server.close();
    },
  };
}

async function pass(incoming: IncomingMessage, response: ServerResponse, { hostname, port }: URL): Promise<void> {
  const { method, url, headers } = incoming;
  // Clients fetch results without a signature.
  const signed = { authorization: ANYBODY, ...headers };
  const outgoing = request({ hostname, port, method, path: url, headers: signed });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject);
  });
  const [answer] = await Promise.all([answered, pipeline(incoming, outgoing)]);
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  await pipeline(answer, response);
}
