/** Clients that hold realtime conversations. They do not repeat a response that breaks off. */
import { once } from 'node:events';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { OFFER } from '../../stack/offer.ts';
import Joi from 'joi';
import { request } from 'undici';
import { type ClientOptions, WebSocket } from 'ws';
import { pause } from '../../stack/pause.ts';
import { tryToAsk } from '../../stack/client.ts';
import { REALTIME_MODEL } from '../realtime-prices.ts';
import type { Customer } from '../customers.ts';
import type { Random } from '../random.ts';

/** A requested response. */
export interface RealtimeTurn {
  /** Its input and output tokens, which no other response has. */
  readonly tokens: string;
  /** The called process. */
  readonly process: string;
  /** In milliseconds since 1970. */
  readonly sentAtMs: number;
  /** When the client got its end, or its connection was closed. */
  endedAtMs: number;
  /** As `response.done` reported it; null if the event did not arrive. */
  status: string | null;
}

export interface RealtimeLoad {
  readonly turns: readonly RealtimeTurn[];
  /** How many sessions were opened. */
  readonly opened: () => number;
  /** Refusals of sessions by status, and errors within sessions by code. */
  readonly errors: ReadonlyMap<string, number>;
  /** Resolves when every session has ended. */
  readonly done: Promise<void>;
}

interface Scenario {
  readonly weight: number;
  /** For the simulator, in addition to the tokens. */
  readonly directive: string;
  readonly modality: 'text' | 'audio';
  /** Whether the client leaves in the middle of the response. */
  readonly isLeft?: true;
  /** Whether no response follows, since the directive stays in the conversation. */
  readonly isLast?: true;
}

const SCENARIOS: readonly Scenario[] = [
  { weight: 10, directive: 'chunk_ms=0', modality: 'text' },
  { weight: 6, directive: 'chunk_ms=50', modality: 'text' },
  { weight: 2, directive: 'chunk_ms=0', modality: 'audio' },
  { weight: 2, directive: 'chunk_ms=50', modality: 'text', isLeft: true },
  { weight: 1, directive: 'fail=processing_failed', modality: 'text', isLast: true },
  { weight: 1, directive: 'drop_after=3', modality: 'text', isLast: true },
];

/** The share of calls over WebRTC, which a WebSocket to the call drives. */
const CALLS = 0.2;
const MOST_TURNS = 6;
const PAUSE_MS = { least: 1_000, most: 10_000 };
const RETRY_MS = 1_000;
/** Longer than any fault of the database lasts. */
const HANG_UP_TIMEOUT_MS = 60_000;
/** Longer than a process is frozen. */
const TURN_TIMEOUT_MS = 60_000;
const OPEN_TIMEOUT_MS = 30_000;

/** @param ended aborted to end new sessions and responses */
export function startRealtimeLoad({
  random,
  sessions,
  apiUrls,
  isUp,
  customers,
  ended,
}: {
  random: Random;
  /** How many conversations are held at the same time. */
  sessions: number;
  /** By the name of the process. */
  apiUrls: ReadonlyMap<string, string>;
  isUp: (process: string) => boolean;
  customers: readonly Customer[];
  ended: AbortSignal;
}): RealtimeLoad {
  const turns: RealtimeTurn[] = [];
  const errors = new Map<string, number>();
  const count = (error: string): void => void errors.set(error, (errors.get(error) ?? 0) + 1);
  let opened = 0;

  async function converse(process: string, url: string): Promise<void> {
    const { apiKey } = random.pick(customers);
    const chance = random.next();
    const socket = chance < CALLS ? await openCall(url, apiKey) : await openRealtimeSocket(url, apiKey, chance < 0.6);
    if (typeof socket === 'string') {
      count(socket);
      return pause(RETRY_MS, ended);
    }
    opened += 1;
    for (let left = random.integer(1, MOST_TURNS); left > 0 && !ended.aborted; left -= 1) {
      const scenario = random.weighted(SCENARIOS);
      const tokens = nextTokens(turns.length);
      const turn: RealtimeTurn = { tokens, process, sentAtMs: Date.now(), endedAtMs: Date.now(), status: null };
      turns.push(turn);
      if (!(await talk(socket, turn, scenario, count)) || scenario.isLast === true) break;
      await pause(random.integer(PAUSE_MS.least, PAUSE_MS.most), ended);
    }
    socket.close();
  }

  async function keepTalking(): Promise<void> {
    await pause(random.next() * PAUSE_MS.most, ended);
    while (!ended.aborted) {
      const target = random.shuffled([...apiUrls]).find(([name]) => isUp(name));
      if (target) await converse(...target);
      else await pause(RETRY_MS, ended);
    }
  }

  const done = Promise.all(Array.from({ length: sessions }, keepTalking)).then(() => undefined);
  return { turns, errors, opened: () => opened, done };
}

/** Different for each response, and few enough that every hold covers them. */
function nextTokens(number: number): string {
  const inputs = 1_900;
  return `${10 + (number % inputs)}/${5 + Math.floor(number / inputs)}`;
}

/** @returns whether the conversation goes on */
async function talk(
  socket: WebSocket,
  turn: RealtimeTurn,
  { directive, modality, isLeft }: Scenario,
  count: (error: string) => void,
): Promise<boolean> {
  const [input, output] = turn.tokens.split('/');
  const text = `Go on. [sim:prompt=${input},tokens=${output},cached=0,${directive}]`;
  const isOver = new Promise<boolean>((resolve) => {
    const end = (goesOn: boolean): void => {
      turn.endedAtMs = Date.now();
      clearTimeout(timer);
      socket.off('message', read);
      socket.off('close', leave);
      resolve(goesOn);
    };
    const leave = (): void => end(false);
    const read = (data: Buffer): void => {
      const { type, response, error } = readEvent(data);
      if (type === 'response.done') turn.status = response?.status ?? '';
      if (type === 'error') count(error?.code ?? '');
      if (isLeft === true && type === 'response.output_text.delta') socket.close();
      else if (type === 'response.done' || type === 'error') end(type === 'response.done');
    };
    const timer = setTimeout(() => socket.terminate(), TURN_TIMEOUT_MS);
    socket.on('message', read);
    socket.once('close', leave);
    if (socket.readyState >= WebSocket.CLOSING) leave();
  });
  const content = [{ type: 'input_text', text }];
  socket.send(JSON.stringify({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }));
  socket.send(JSON.stringify({ type: 'response.create', response: { output_modalities: [modality] } }));
  return isOver;
}

interface Event {
  readonly type: string;
  readonly response?: { readonly status: string };
  readonly error?: { readonly code: string };
}

const EVENT = Joi.object<Event>({
  type: Joi.string().required(),
  response: Joi.object({ status: Joi.string().required() }).unknown(),
  error: Joi.object({ code: Joi.string().required() }).unknown(),
}).unknown();

function readEvent(data: Buffer): Event {
  return Joi.attempt(JSON.parse(data.toString()), EVENT);
}

/**
 * Opens a call, and a WebSocket to it. The call ends with the WebSocket.
 *
 * @returns the reason in a word if there is no call
 */
async function openCall(url: string, apiKey: string): Promise<WebSocket | string> {
  const authorization = `Bearer ${apiKey}`;
  const opened = await request(`${url}/v1/realtime/calls?model=${REALTIME_MODEL}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/sdp' },
    body: OFFER,
  }).catch(() => null);
  await opened?.body.dump();
  if (opened?.statusCode !== 201) return String(opened?.statusCode ?? 'no answer');
  const path = String(opened.headers['location']);
  const socket = await connect(`${url.replace(/^http/, 'ws')}/v1/realtime?call_id=${path.split('/').at(-1)}`, [], {
    headers: { authorization },
  });
  // A call whose end nobody receives holds money until the time of its session is over.
  const hangUp = async (): Promise<void> => {
    const { statusCode, body } = await request(`${url}${path}/hangup`, { method: 'POST', headers: { authorization } });
    await body.dump();
    if (statusCode >= 500) throw new Error(`the hang-up was answered ${statusCode}`);
  };
  const end = (): Promise<void> =>
    waitUntil(hangUp, { timeoutMs: HANG_UP_TIMEOUT_MS, pauseMs: RETRY_MS }).catch(() => undefined);
  if (typeof socket === 'string') await end();
  else socket.once('close', () => void end());
  return socket;
}

const SECRET = Joi.object<{ value: string }>({ value: Joi.string().required() }).unknown();

/**
 * Opens a session with an API key, or as a browser does with a client secret.
 *
 * @returns the reason in a word if there is no session
 */
export async function openRealtimeSocket(url: string, apiKey: string, isBrowser: boolean): Promise<WebSocket | string> {
  let protocols: string[] = [];
  if (isBrowser) {
    const body = { session: { type: 'realtime', model: REALTIME_MODEL } };
    const answer = await tryToAsk(`${url}/v1/realtime/client_secrets`, { token: apiKey, body });
    if (answer?.status !== 200) return String(answer?.status ?? 'no answer');
    protocols = ['realtime', `openai-insecure-api-key.${Joi.attempt(JSON.parse(answer.text), SECRET).value}`];
  }
  const address = `${url.replace(/^http/, 'ws')}/v1/realtime?model=${REALTIME_MODEL}`;
  const credential = isBrowser
    ? { origin: 'https://app.example.com' }
    : { headers: { authorization: `Bearer ${apiKey}` } };
  return connect(address, protocols, credential);
}

async function connect(address: string, protocols: string[], options: ClientOptions): Promise<WebSocket | string> {
  const socket = new WebSocket(address, protocols, { handshakeTimeout: OPEN_TIMEOUT_MS, ...options });
  socket.on('error', () => undefined);
  const refused = new Promise<string>((resolve) => {
    socket.once('unexpected-response', (upgrade, response) => {
      resolve(String(response.statusCode));
      upgrade.destroy();
    });
    socket.once('close', () => resolve('no answer'));
  });
  return Promise.race([
    once(socket, 'open').then(
      () => socket,
      () => refused,
    ),
    refused,
  ]);
}
