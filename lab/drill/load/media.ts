/** Clients that create media tasks and poll them as real ones do: they repeat unanswered calls under the same key. */
import { randomUUID } from 'node:crypto';
import Joi from 'joi';
import { dataReader } from '../../stack/answers.ts';
import { pause } from '../../stack/pause.ts';
import { type Answer, tryToAsk } from '../../stack/client.ts';
import type { Customer } from '../customers.ts';
import type { Random } from '../random.ts';
import { atPace } from './pace.ts';
import type { Scenario } from './scenarios.ts';

/** One order of a client, however many calls it took. */
export interface MediaOrder {
  readonly customer: Customer;
  /** The expected outcome of the task: `succeeded`, or the code of its failure. */
  readonly ending: string;
  calls: number;
  /** Null until a call was answered 201. */
  taskId: string | null;
  /** When the 201 arrived, in milliseconds since 1970. */
  answeredAtMs: number | null;
  /** Whether the task was gone when it was polled. */
  isGone: boolean;
  /** Whether the 201 replayed an earlier call's. */
  isReplay: boolean;
  /** An answer that permits no retry. */
  refusal: Answer | null;
  /** The task as first seen final, and the time. */
  final: Pick<Answer, 'text' | 'endedAtMs'> | null;
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
/** More than are placed until the deadline of the first, so that clients continue to order while none can complete. */
const MOST_AT_ONCE = 500;
const RETRY_PAUSE_MS = 500;
const LONGEST_RETRY_PAUSE_MS = 4_000;
const POLL_MS = 3_000;

const readTask = dataReader<{ id: string; status: string }>({ id: Joi.string(), status: Joi.string() });

interface MediaLoadOptions {
  readonly random: Random;
  readonly perSecond: number;
  readonly apiUrls: readonly string[];
  readonly customers: readonly Customer[];
  /** The scenarios may change while the load runs. */
  readonly upstreams: { readonly scenarios: readonly Scenario[] };
  /** Aborted to end new orders. */
  readonly loadEnded: AbortSignal;
  /** Aborted when clients give up on their orders. */
  readonly patienceEnded: AbortSignal;
}

export function startMediaLoad(options: MediaLoadOptions): MediaLoad {
  const { random, perSecond, loadEnded } = options;
  const orders: MediaOrder[] = [];
  const createdAtMs: number[] = [];
  const client = new Client(options);

  async function place(): Promise<void> {
    const { directive, ending } = random.weighted(options.upstreams.scenarios);
    const { path, body } = random.pick(PRODUCTS);
    const order = newOrder(random.pick(options.customers), ending);
    orders.push(order);
    const prompt = directive === '' ? 'A lighthouse' : `A lighthouse [sim:${directive}]`;
    await client.create(order, path, { ...body, prompt });
    if (order.answeredAtMs !== null) createdAtMs.push(order.answeredAtMs);
    if (order.taskId !== null) await client.follow(order, order.taskId);
  }

  const pace = { perSecond, mostAtOnce: MOST_AT_ONCE, mostInAll: MOST_ORDERS };
  return { orders, answers: client.answers, createdAtMs, done: atPace(random, pace, loadEnded, place) };
}

function newOrder(customer: Customer, ending: string): MediaOrder {
  return {
    customer,
    ending,
    calls: 0,
    taskId: null,
    answeredAtMs: null,
    isGone: false,
    isReplay: false,
    refusal: null,
    final: null,
  };
}

/** Follows orders to their end, as a real client does. */
class Client {
  readonly answers = new Map<number, number>();
  readonly #random: Random;
  readonly #apiUrls: readonly string[];
  readonly #patienceEnded: AbortSignal;

  constructor({ random, apiUrls, patienceEnded }: Pick<MediaLoadOptions, 'random' | 'apiUrls' | 'patienceEnded'>) {
    this.#random = random;
    this.#apiUrls = apiUrls;
    this.#patienceEnded = patienceEnded;
  }

  async create(order: MediaOrder, path: string, body: object): Promise<void> {
    const headers = { 'idempotency-key': randomUUID() };
    const question = { token: order.customer.apiKey, body, headers };
    for (let pauseMs = RETRY_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_PAUSE_MS)) {
      order.calls += 1;
      const answer = await this.#ask(path, question);
      if (answer?.status === 201) {
        order.answeredAtMs = answer.endedAtMs;
        order.taskId = readTask(answer.text).id;
        order.isReplay = answer.headers['idempotent-replayed'] === 'true';
        return;
      }
      if (answer && !isWorthRetrying(answer.status)) {
        order.refusal = answer;
        return;
      }
      if (this.#patienceEnded.aborted) return;
      await pause(pauseMs, this.#patienceEnded);
    }
  }

  async follow(order: MediaOrder, taskId: string): Promise<void> {
    while (!this.#patienceEnded.aborted) {
      await pause(POLL_MS * (0.5 + this.#random.next()), this.#patienceEnded);
      const answer = await this.#ask(`/v1/tasks/${taskId}`, { token: order.customer.apiKey });
      if (answer?.status === 404) {
        order.isGone = true;
        return;
      }
      if (answer?.status !== 200) continue;
      const { status } = readTask(answer.text);
      if (status !== 'succeeded' && status !== 'failed') continue;
      order.final = answer;
      return;
    }
  }

  async #ask(path: string, question: Parameters<typeof tryToAsk>[1]): Promise<Answer | null> {
    const answer = await tryToAsk(this.#random.pick(this.#apiUrls) + path, question);
    const status = answer?.status ?? 0;
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
    return answer;
  }
}

/** An earlier call with the key may still be in progress, and a process may recover. */
function isWorthRetrying(status: number): boolean {
  return status === 409 || status === 429 || status >= 500;
}
