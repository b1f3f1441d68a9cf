/** Clients that create media tasks and poll them, as real ones do: what is not answered is asked again under the same key. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Joi from 'joi';
import { type Answer, tryToAsk } from '../client.ts';
import type { Customer } from '../customers.ts';
import type { Random } from '../random.ts';
import { atPace } from './pace.ts';
import type { Scenario } from './scenarios.ts';

/** One wish of a client, however many calls it took. */
export interface MediaOrder {
  readonly customer: Customer;
  /** How the task is to end: `succeeded`, or the code of its failure. */
  readonly ending: string;
  calls: number;
  /** Null until a call was answered 201. */
  taskId: string | null;
  /** When the 201 had come, in milliseconds since 1970. */
  answeredAtMs: number | null;
  /** Whether the task was there no more when it was polled. */
  isGone: boolean;
  /** Whether the 201 was that of an earlier call, given again. */
  isReplay: boolean;
  /** An answer after which there is no sense in trying again. */
  refusal: Answer | null;
  /** The task as it was first seen final. */
  final: string | null;
}

export interface MediaLoad {
  readonly orders: readonly MediaOrder[];
  /** Answers to create calls and polls, by status; 0 for no answer. */
  readonly answers: ReadonlyMap<number, number>;
  /** When create calls were answered 201, in milliseconds since 1970. */
  readonly createdAtMs: readonly number[];
  /** Resolves when every order has ended. */
  readonly done: Promise<void>;
}

const PRODUCTS = [
  { path: '/v1/videos/tasks', body: { model: 'vidone-3.0', duration: 2 } },
  { path: '/v1/images/tasks', body: { model: 'imagea-2.5-sunburst' } },
] as const;

/** As many as the simulator can list. */
const MOST_ORDERS = 1_900;
const MOST_AT_ONCE = 250;
const RETRY_PAUSE_MS = 500;
const LONGEST_RETRY_PAUSE_MS = 4_000;
const POLL_MS = 3_000;

const taskSchema = Joi.object<{ data: { id: string; status: string } }>({
  data: Joi.object({ id: Joi.string().required(), status: Joi.string().required() }).unknown(true).required(),
}).required();

/**
 * @param loadEnded aborted when nothing new is to be ordered
 * @param patienceEnded aborted when clients give up on what they have ordered
 */
export function startMediaLoad({
  random,
  perSecond,
  apiUrls,
  customers,
  upstreams,
  loadEnded,
  patienceEnded,
}: {
  random: Random;
  perSecond: number;
  apiUrls: readonly string[];
  customers: readonly Customer[];
  /** What is chosen from changes meanwhile. */
  upstreams: { readonly scenarios: readonly Scenario[] };
  loadEnded: AbortSignal;
  patienceEnded: AbortSignal;
}): MediaLoad {
  const orders: MediaOrder[] = [];
  const answers = new Map<number, number>();
  const createdAtMs: number[] = [];

  async function ask(path: string, question: Parameters<typeof tryToAsk>[1]): Promise<Answer | null> {
    const answer = await tryToAsk(random.pick(apiUrls) + path, question);
    const status = answer?.status ?? 0;
    answers.set(status, (answers.get(status) ?? 0) + 1);
    return answer;
  }

  async function place(): Promise<void> {
    const { directive, ending } = random.weighted(upstreams.scenarios);
    const { path, body } = random.pick(PRODUCTS);
    const order: MediaOrder = {
      customer: random.pick(customers),
      ending,
      calls: 0,
      taskId: null,
      answeredAtMs: null,
      isGone: false,
      isReplay: false,
      refusal: null,
      final: null,
    };
    orders.push(order);
    const prompt = directive === '' ? 'A lighthouse' : `A lighthouse [sim:${directive}]`;
    await create(order, path, { ...body, prompt });
    if (order.taskId !== null) await follow(order, order.taskId);
  }

  async function create(order: MediaOrder, path: string, body: object): Promise<void> {
    const question = {
      token: order.customer.apiKey,
      body,
      headers: { 'idempotency-key': randomUUID() },
    };
    for (let pauseMs = RETRY_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_PAUSE_MS)) {
      order.calls += 1;
      const answer = await ask(path, question);
      if (answer?.status === 201) {
        createdAtMs.push(answer.endedAtMs);
        order.answeredAtMs = answer.endedAtMs;
        order.taskId = Joi.attempt(JSON.parse(answer.text), taskSchema, { convert: false }).data.id;
        order.isReplay = answer.headers['idempotent-replayed'] === 'true';
        return;
      }
      if (answer && !isWorthRetrying(answer.status)) {
        order.refusal = answer;
        return;
      }
      if (patienceEnded.aborted) return;
      await pause(pauseMs, patienceEnded);
    }
  }

  async function follow(order: MediaOrder, taskId: string): Promise<void> {
    while (!patienceEnded.aborted) {
      await pause(POLL_MS * (0.5 + random.next()), patienceEnded);
      const answer = await ask(`/v1/tasks/${taskId}`, { token: order.customer.apiKey });
      if (answer?.status === 404) {
        order.isGone = true;
        return;
      }
      if (answer?.status !== 200) continue;
      const { status } = Joi.attempt(JSON.parse(answer.text), taskSchema, { convert: false }).data;
      if (status !== 'succeeded' && status !== 'failed') continue;
      order.final = answer.text;
      return;
    }
  }

  const pace = { perSecond, mostAtOnce: MOST_AT_ONCE, mostInAll: MOST_ORDERS };
  return { orders, answers, createdAtMs, done: atPace(random, pace, loadEnded, place) };
}

/** An earlier call with the key may be under way still, and what is down comes back. */
function isWorthRetrying(status: number): boolean {
  return status === 409 || status === 429 || status >= 500;
}

async function pause(milliseconds: number, ended: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal: ended }).catch(() => undefined);
}
