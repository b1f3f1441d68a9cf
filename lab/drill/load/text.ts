/** Clients that request text in every format, whole and streamed. They do not repeat a request that breaks off. */
import type { Period } from '../../stack/period.ts';
import { ask } from '../../stack/client.ts';
import type { Customer } from '../customers.ts';
import type { Random } from '../random.ts';
import { atPace } from './pace.ts';

/** One request that was answered completely. */
export interface TextAnswer {
  /** The gateway's name for it. */
  readonly requestId: string;
  /** The process that answered. */
  readonly process: string;
  readonly status: number;
  /** Whether it is a complete answer of the model. */
  readonly isWhole: boolean;
  /** The input and output tokens that the upstream reported; null if it reported none. */
  readonly usage: { readonly input: number; readonly output: number } | null;
  /** When the last byte had come, in milliseconds since 1970. */
  readonly endedAtMs: number;
}

/** A request whose answer did not arrive, or broke off. */
export interface LostRequest extends Period {
  /** The called process. */
  readonly process: string;
  /** Whether its upstream broke its answer off. */
  readonly isBrokenOff: boolean;
  /** The error that the client noticed. */
  readonly reason: string;
}

export interface TextLoad {
  readonly answers: readonly TextAnswer[];
  readonly lost: readonly LostRequest[];
  /** Resolves when every request has ended. */
  readonly done: Promise<void>;
}

interface Scenario {
  readonly weight: number;
  /** For the simulator, in addition to the tokens. */
  readonly directive: string;
  readonly isUsageReported: boolean;
  /** Whether the upstream breaks its answer off, so that a stream to the client breaks off, too. */
  readonly isBrokenOff?: true;
}

const SCENARIOS: readonly Scenario[] = [
  { weight: 12, directive: '', isUsageReported: true },
  { weight: 6, directive: 'chunk_ms=40', isUsageReported: true },
  { weight: 2, directive: 'delay_ms=1500', isUsageReported: true },
  { weight: 2, directive: 'no_usage', isUsageReported: false },
  { weight: 1, directive: 'fail=processing_failed', isUsageReported: true },
  { weight: 1, directive: 'status=500', isUsageReported: true },
  { weight: 1, directive: 'drop_after=3', isUsageReported: true, isBrokenOff: true },
  { weight: 1, directive: 'malformed_after=2', isUsageReported: true, isBrokenOff: true },
];

interface Format {
  readonly models: readonly string[];
  readonly path: (model: string, streamed: boolean) => string;
  readonly body: (model: string, prompt: string, streamed: boolean) => object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Occurs only in a complete stream. */
  readonly endOfStream: string;
}

const messages = (prompt: string): object[] => [{ role: 'user', content: prompt }];

const FORMATS: readonly Format[] = [
  {
    models: ['textc-M3', 'textd-v2.5', 'texth-3.8-flash'],
    path: () => '/v1/chat/completions',
    body: (model, prompt, stream) => ({
      model,
      stream,
      messages: messages(prompt),
      ...(stream && { stream_options: { include_usage: true } }),
    }),
    endOfStream: 'data: [DONE]',
  },
  {
    models: ['textg-6-luna', 'texte-3'],
    path: () => '/v1/responses',
    body: (model, prompt, stream) => ({ model, stream, input: prompt }),
    endOfStream: 'event: response.completed',
  },
  {
    models: ['textj-4.7', 'textf3.8-max'],
    path: () => '/v1/messages',
    body: (model, prompt, stream) => ({ model, stream, max_tokens: 1_000, messages: messages(prompt) }),
    headers: { 'msgfmt-version': '2023-06-01' },
    endOfStream: 'event: message_stop',
  },
  {
    models: ['texth-3.8-flash', 'texth-3.1-pro-preview'],
    path: (model, streamed) =>
      `/v1beta/models/${model}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (_model, prompt) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
    endOfStream: '"finishReason":"STOP"',
  },
];

const MOST_AT_ONCE = 60;

/** @param ended aborted to end new requests */
export function startTextLoad({
  random,
  perSecond,
  textUrls,
  isUp,
  customers,
  ended,
}: {
  random: Random;
  perSecond: number;
  /** By the name of the process. */
  textUrls: ReadonlyMap<string, string>;
  /** Whether a process gets new requests, as a balancer sees it. */
  isUp: (process: string) => boolean;
  customers: readonly Customer[];
  ended: AbortSignal;
}): TextLoad {
  const answers: TextAnswer[] = [];
  const processes = [...textUrls];
  const lost: LostRequest[] = [];

  async function askOnce(): Promise<void> {
    const format = random.pick(FORMATS);
    const model = random.pick(format.models);
    const { directive, isUsageReported, isBrokenOff = false } = random.weighted(SCENARIOS);
    const streamed = random.next() < 0.5;
    const usage = { input: random.integer(5, 400), output: random.integer(5, 60) };
    const prompt = `Tell a story. [sim:tokens=${usage.output},prompt=${usage.input},cached=0,${directive}]`;
    const { apiKey } = random.pick(customers);
    const target = random.shuffled(processes).find(([name]) => isUp(name));
    if (!target) return;
    const [process, url] = target;
    const fromMs = Date.now();
    const answer = await ask(url + format.path(model, streamed), {
      token: apiKey,
      body: format.body(model, prompt, streamed),
      ...(format.headers && { headers: format.headers }),
    }).catch((error: unknown) => {
      lost.push({ process, fromMs, untilMs: Date.now(), isBrokenOff, reason: String(error) });
    });
    if (!answer) return;
    answers.push({
      requestId: String(answer.headers['x-request-id']),
      process,
      status: answer.status,
      isWhole: answer.status === 200 && (!streamed || answer.text.includes(format.endOfStream)),
      usage: isUsageReported ? usage : null,
      endedAtMs: answer.endedAtMs,
    });
  }

  const pace = { perSecond, mostAtOnce: MOST_AT_ONCE, mostInAll: Number.POSITIVE_INFINITY };
  return { answers, lost, done: atPace(random, pace, ended, askOnce) };
}
