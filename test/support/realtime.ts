/** A client of realtime sessions, over a real WebSocket. */
import { type ClientOptions, WebSocket } from 'ws';
import { PATIENCE_MS } from './eventually.ts';
import type { ErrorBody } from './app.ts';

export type RealtimeEvent = Readonly<Record<string, unknown>> & { readonly type: string };

export interface TestSession {
  readonly socket: WebSocket;
  /** All events so far. */
  readonly events: readonly RealtimeEvent[];
  send(event: object): void;
  /** The next event of a type that no earlier call has returned. */
  next(type: string): Promise<RealtimeEvent>;
  /** Sends a message, requests a response, and returns the event at its end. */
  ask(text: string, response?: object): Promise<RealtimeEvent>;
  /** The code and reason with which the connection was closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): void;
}

export interface OpenOptions extends Pick<ClientOptions, 'headers' | 'origin'> {
  readonly bearer?: string;
  readonly protocols?: readonly string[];
}

/** The refusal of a session, before the upgrade. */
export class RefusedSession extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: ErrorBody;
  constructor(status: number, headers: Readonly<Record<string, unknown>>, body: ErrorBody) {
    super(`${status} ${JSON.stringify(body)}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** @param url `http://…/v1/realtime?model=…` @throws RefusedSession */
export async function openRealtime(url: string, options: OpenOptions = {}): Promise<TestSession> {
  const { bearer, protocols = [], headers = {}, ...others } = options;
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], {
    ...others,
    headers: { ...headers, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
  });
  const events: RealtimeEvent[] = [];
  const returned = new Set<RealtimeEvent>();
  let wake: (() => void)[] = [];
  const notify = (): void => {
    for (const one of wake) one();
    wake = [];
  };
  socket.on('message', (data: Buffer) => {
    events.push(JSON.parse(data.toString()) as RealtimeEvent);
    notify();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      resolve({ code, reason: String(reason) });
      notify();
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.on('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += String(chunk)));
      response.once('end', () =>
        reject(new RefusedSession(response.statusCode ?? 0, response.headers, JSON.parse(body) as ErrorBody)),
      );
    });
  });
  const next: TestSession['next'] = async (type) => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = events.find((event) => event.type === type && !returned.has(event));
      if (found !== undefined) {
        returned.add(found);
        return found;
      }
      const left = deadline - performance.now();
      if (left <= 0 || socket.readyState === WebSocket.CLOSED) {
        throw new Error(`no ${type} among: ${JSON.stringify(events).slice(0, 2_000)}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  };
  const send = (event: object): void => socket.send(JSON.stringify(event));
  return {
    socket,
    events,
    send,
    next,
    ask: (text, response) => {
      send(userMessage(text));
      send({ type: 'response.create', ...(response && { response }) });
      return next('response.done');
    },
    closed,
    close: () => socket.close(),
  };
}

/** @throws Error if the session is not refused */
export async function refusalOfRealtime(url: string, options: OpenOptions = {}): Promise<RefusedSession> {
  try {
    (await openRealtime(url, options)).close();
  } catch (error) {
    if (error instanceof RefusedSession) return error;
    throw error;
  }
  throw new Error('the session was opened');
}

export function userMessage(text: string): object {
  return {
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
  };
}

/** Sends half a second of noise, and half a second of silence. */
export function speak(session: TestSession): void {
  for (const loud of [true, false]) {
    const pcm = Buffer.alloc(48_000 / 2);
    if (loud) for (let at = 0; at < pcm.length; at += 2) pcm.writeInt16LE(at % 4 === 0 ? 9_000 : -9_000, at);
    session.send({ type: 'input_audio_buffer.append', audio: pcm.toString('base64') });
  }
}
