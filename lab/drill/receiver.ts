/** The webhook receiver of the drill: it flaps under load, and records the deliveries. */
import { once, setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { serveLocally } from '../stack/local-server.ts';
import { pause } from '../stack/pause.ts';
import { Inbox, type ReceivedEvent } from './inbox.ts';
import type { Random } from './random.ts';

/** A time in which an endpoint answered nothing, in milliseconds since 1970. */
export interface Hang {
  readonly path: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Receiver {
  /** The address of an endpoint is this and a path. */
  readonly url: string;
  /** The secret of the endpoint under a path, which the drill learns when it creates the endpoint. */
  setSecret(path: string, secret: string): void;
  /** The paths of all endpoints. */
  paths(): readonly string[];
  /** From now on the endpoint accepts requests without answering them. @returns a function that ends this */
  hang(path: string): () => void;
  readonly hangs: readonly Hang[];
  /** From now on everything is accepted at once. */
  calmDown(): void;
  readonly events: ReadonlyMap<string, ReceivedEvent>;
  /** The invalid deliveries: a bad signature, or another body under the same id. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** The receiver's behaviour, and its duration. */
const MOODS = [
  { weight: 5, behaviour: 'well', leastMs: 3_000, mostMs: 12_000 },
  { weight: 2, behaviour: 'failing', leastMs: 1_000, mostMs: 6_000 },
  { weight: 2, behaviour: 'resetting', leastMs: 1_000, mostMs: 6_000 },
  { weight: 1, behaviour: 'slow', leastMs: 2_000, mostMs: 8_000 },
] as const;

type Behaviour = (typeof MOODS)[number]['behaviour'];

const SLOW_MS = 3_000;

export async function startReceiver(random: Random): Promise<Receiver> {
  const inbox = new Inbox();
  const hanging = new Hanging();
  const calm = new AbortController();
  // Every request that is answered slowly listens.
  setMaxListeners(0, calm.signal);
  let behaviour: Behaviour = 'well';

  async function flap(): Promise<void> {
    while (!calm.signal.aborted) {
      const mood = random.weighted(MOODS);
      behaviour = mood.behaviour;
      await pause(random.integer(mood.leastMs, mood.mostMs), calm.signal);
    }
    behaviour = 'well';
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const event = inbox.note(request, await readText(request));
    const hangsUntil = hanging.until(event.path);
    if (hangsUntil) {
      event.refused += 1;
      await once(hangsUntil, 'abort');
      request.socket.resetAndDestroy();
      return;
    }
    const now = behaviour;
    if (now === 'slow') await pause(SLOW_MS, calm.signal);
    if (now === 'failing' || now === 'resetting') refuse(event, now, request, response);
    else accept(event, response);
  }

  const server = await serveLocally((request, response) => {
    void receive(request, response).catch(() => response.destroy());
  });
  const flapping = flap();

  return {
    url: server.url,
    setSecret: (path, secret) => void inbox.secrets.set(path, secret),
    paths: () => [...inbox.secrets.keys()],
    hang: (path) => hanging.begin(path),
    hangs: hanging.past,
    calmDown: () => calm.abort(),
    events: inbox.events,
    complaints: inbox.complaints,
    close: async () => {
      calm.abort();
      await flapping;
      await server.close();
    },
  };
}

/** The endpoints that hang. */
class Hanging {
  readonly past: Hang[] = [];
  readonly #now = new Map<string, AbortSignal>();

  /** @returns the signal that ends the hang; undefined where nothing hangs */
  until(path: string): AbortSignal | undefined {
    return this.#now.get(path);
  }

  /** @returns a function that ends the hang */
  begin(path: string): () => void {
    const ended = new AbortController();
    // Every request that hangs listens.
    setMaxListeners(0, ended.signal);
    const fromMs = Date.now();
    this.#now.set(path, ended.signal);
    return () => {
      this.#now.delete(path);
      this.past.push({ path, fromMs, untilMs: Date.now() });
      ended.abort();
    };
  }
}

function refuse(
  event: ReceivedEvent,
  how: 'failing' | 'resetting',
  request: IncomingMessage,
  response: ServerResponse,
): void {
  event.refused += 1;
  if (how === 'resetting') request.socket.resetAndDestroy();
  else response.writeHead(500).end();
}

function accept(event: ReceivedEvent, response: ServerResponse): void {
  event.accepted += 1;
  event.lastAcceptedAtMs = Date.now();
  event.acceptedAtMs ??= event.lastAcceptedAtMs;
  response.writeHead(204).end();
}
