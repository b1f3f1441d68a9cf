/** The webhook receiver of the drill: it flaps while there is load, and remembers what it was sent. */
import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifySignature } from '../../net/webhook-signature.ts';
import type { Random } from './random.ts';

/** One event, as often as it came. */
export interface ReceivedEvent {
  readonly id: string;
  /** The last part of the address that it was sent to. */
  readonly path: string;
  /** The first body. */
  readonly body: string;
  /** When it came for the first time, in milliseconds since 1970. */
  readonly seenAtMs: number;
  /** How often it was taken, and how often it was not. */
  accepted: number;
  refused: number;
  /** When it was taken for the first and the last time, in milliseconds since 1970; null until then. */
  acceptedAtMs: number | null;
  lastAcceptedAtMs: number | null;
}

/** A time in which an endpoint answered nothing, in milliseconds since 1970. */
export interface Hang {
  readonly path: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Receiver {
  /** Addresses of endpoints are this and a path. */
  readonly url: string;
  /** The secret of the endpoint under a path, which the drill learns when it is made. */
  setSecret(path: string, secret: string): void;
  /** Of all endpoints. */
  paths(): readonly string[];
  /** From now on the endpoint takes requests and does not answer them. @returns ends that */
  hang(path: string): () => void;
  readonly hangs: readonly Hang[];
  /** From now on everything is taken at once. */
  calmDown(): void;
  readonly events: ReadonlyMap<string, ReceivedEvent>;
  /** What no receiver should be sent: a bad signature, or another body under an id. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** How the receiver feels, and for how long. */
const MOODS = [
  { weight: 5, behaviour: 'well', leastMs: 3_000, mostMs: 12_000 },
  { weight: 2, behaviour: 'failing', leastMs: 1_000, mostMs: 6_000 },
  { weight: 2, behaviour: 'resetting', leastMs: 1_000, mostMs: 6_000 },
  { weight: 1, behaviour: 'slow', leastMs: 2_000, mostMs: 8_000 },
] as const;

type Behaviour = (typeof MOODS)[number]['behaviour'];

const SLOW_MS = 3_000;

export async function startReceiver(random: Random): Promise<Receiver> {
  const secrets = new Map<string, string>();
  const events = new Map<string, ReceivedEvent>();
  const complaints: string[] = [];
  const hanging = new Map<string, AbortSignal>();
  const hangs: Hang[] = [];
  const calm = new AbortController();
  // Every request that is answered slowly listens.
  setMaxListeners(0, calm.signal);
  let behaviour: Behaviour = 'well';

  const server = createServer((request, response) => {
    void receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  const flapping = flap();

  async function flap(): Promise<void> {
    while (!calm.signal.aborted) {
      const mood = random.weighted(MOODS);
      behaviour = mood.behaviour;
      const forMs = random.integer(mood.leastMs, mood.mostMs);
      await sleep(forMs, undefined, { signal: calm.signal }).catch(() => undefined);
    }
    behaviour = 'well';
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const event = note(request, Buffer.concat(chunks).toString('utf8'));
    const hangsUntil = hanging.get(event.path);
    if (hangsUntil) {
      event.refused += 1;
      await once(hangsUntil, 'abort');
      request.socket.resetAndDestroy();
      return;
    }
    const now = behaviour;
    if (now === 'slow') await sleep(SLOW_MS, undefined, { signal: calm.signal }).catch(() => undefined);
    if (now === 'failing' || now === 'resetting') {
      event.refused += 1;
      if (now === 'resetting') request.socket.resetAndDestroy();
      else response.writeHead(500).end();
      return;
    }
    event.accepted += 1;
    event.lastAcceptedAtMs = Date.now();
    event.acceptedAtMs ??= event.lastAcceptedAtMs;
    response.writeHead(204).end();
  }

  function note({ url = '', headers }: IncomingMessage, body: string): ReceivedEvent {
    const path = url.slice(1);
    const id = String(headers['webhook-id']);
    const isSigned = verifySignature({
      secret: secrets.get(path) ?? '',
      timestamp: String(headers['x-svc-timestamp']),
      signature: String(headers['x-svc-signature']),
      body,
      nowSeconds: Math.floor(Date.now() / 1000),
    });
    if (!isSigned) complaints.push(`${id} to ${path} had no valid signature`);
    // An event goes to each endpoint under the same id.
    const key = `${path} ${id}`;
    const known = events.get(key);
    if (known && known.body !== body) complaints.push(`${id} to ${path} came with another body than before`);
    const event = known ?? {
      id,
      path,
      body,
      seenAtMs: Date.now(),
      accepted: 0,
      refused: 0,
      acceptedAtMs: null,
      lastAcceptedAtMs: null,
    };
    events.set(key, event);
    return event;
  }

  return {
    url: `http://127.0.0.1:${address.port}`,
    setSecret: (path, secret) => void secrets.set(path, secret),
    paths: () => [...secrets.keys()],
    hang: (path) => {
      const ended = new AbortController();
      // Every request that hangs listens.
      setMaxListeners(0, ended.signal);
      const fromMs = Date.now();
      hanging.set(path, ended.signal);
      return () => {
        hanging.delete(path);
        hangs.push({ path, fromMs, untilMs: Date.now() });
        ended.abort();
      };
    },
    hangs,
    calmDown: () => calm.abort(),
    events,
    complaints,
    close: async () => {
      calm.abort();
      await flapping;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
