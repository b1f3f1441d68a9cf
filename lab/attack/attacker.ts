/** Malicious clients: the requests of an attack, and its measured damage. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import Joi from 'joi';
import { Agent, type Dispatcher, request } from 'undici';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { type Catalogue } from '../../catalogue/types.ts';
import { type PicoUsd, parseUsd } from '../../domain/money.ts';
import { priceText } from '../../domain/pricing.ts';
import type { Administration, OpenedAccount } from '../stack/accounts.ts';
import { dataReader } from '../stack/answers.ts';
import type { Vendor } from './vendor.ts';

export interface Victim extends Administration {
  readonly textUrl: string;
  readonly vendor: Vendor;
  readonly catalogue: Catalogue;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** Text or bytes are sent unchanged, anything else as JSON. */
  readonly body?: object | string | Uint8Array;
  /** Disconnects after a while, or as soon as the answer so far matches. */
  readonly leave?: { readonly afterMs: number } | { readonly when: (received: string) => boolean };
}

const TIMEOUT_MS = 120_000;
/** Processes keep small allowances for a minute. */
const SETTLED_TIMEOUT_MS = 90_000;
const agent = new Agent({ connections: 512, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });

const readShown = dataReader<Record<'balances' | 'totals', Record<string, number>>>({
  balances: Joi.object(),
  totals: Joi.object(),
});

/** @throws Error when there was no whole answer, except for a client that left */
export async function call(url: string, token: string, { method, headers, body, leave }: Call): Promise<Answer> {
  const leaving = new AbortController();
  if (leave !== undefined && 'afterMs' in leave) setTimeout(() => leaving.abort(), leave.afterMs);
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  let answer: Dispatcher.ResponseData;
  try {
    answer = await request(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      dispatcher: agent,
      signal: leaving.signal,
      headers: {
        authorization: `Bearer ${token}`,
        'msgfmt-version': '2023-06-01',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    });
  } catch (error) {
    if (leaving.signal.aborted) return { status: 0, headers: {}, text: '' };
    throw error;
  }
  return { status: answer.statusCode, headers: answer.headers, text: await read(answer, leaving, leave) };
}

async function read(
  { body }: Dispatcher.ResponseData,
  leaving: AbortController,
  leave: Call['leave'],
): Promise<string> {
  if (leave === undefined) return body.text();
  let received = '';
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body) {
      received += decoder.decode(Buffer.from(bytes), { stream: true });
      if ('when' in leave && leave.when(received)) leaving.abort();
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  }
  return received;
}

/** Returns the charges of the account when it holds nothing any more. */
export async function settledCharge({ apiUrl, adminToken }: Victim, { accountId }: OpenedAccount): Promise<PicoUsd> {
  return waitUntil(
    async () => {
      const { text } = await call(`${apiUrl}/admin/v1/accounts/${accountId}`, adminToken, {});
      const { balances, totals } = readShown(text);
      if (balances['reserved_usd'] !== 0) throw new Error(`${balances['reserved_usd']} USD are still held`);
      return parseUsd((totals['charged_usd'] ?? 0).toFixed(12));
    },
    { timeoutMs: SETTLED_TIMEOUT_MS },
  );
}

/** Returns the list price of everything that the vendor generated since it was last reset. */
export function vendorsBill({ vendor, catalogue }: Victim): PicoUsd {
  return vendor.calls.reduce((sum, { model, inputTokens, outputTokens }) => {
    const pricing = catalogue.textModels.get(model)?.pricing;
    if (pricing === undefined) throw new Error(`the vendor was asked for an unknown model: ${model}`);
    const usage = {
      inputTotal: inputTokens,
      cacheRead: 0,
      cacheWrite: 0,
      cacheWrite1h: 0,
      outputTotal: Math.ceil(outputTokens),
    };
    return sum + priceText(pricing, usage, Date.now()).charge;
  }, 0n);
}

/** The maximum cost of a request beyond its account's balance: the price of 1,024 tokens of output. */
export function tolerance({ catalogue }: Victim, model: string): PicoUsd {
  const output = catalogue.textModels.get(model)?.pricing.rates.output;
  if (output === undefined) throw new Error(`there is no model ${model}`);
  return 1_024n * output;
}

/** The requests of another client, repeated during the attack. */
export interface Probe {
  readonly url: string;
  readonly apiKey: string;
}

/** The durations of many small calls of another client, made one after the other during the attack. */
export async function probeDuring<Result>(
  probe: Probe,
  work: () => Promise<Result>,
): Promise<{ readonly worstMs: number; readonly p99Ms: number; readonly result: Result }> {
  const bystander = fork(join(import.meta.dirname, 'bystander.ts'), [JSON.stringify(probe)]);
  const ended = once(bystander, 'exit').then(([exit]) => Promise.reject(new Error(`the bystander ended with ${exit}`)));
  await Promise.race([once(bystander, 'message'), ended]);
  const told = Promise.race([once(bystander, 'message'), ended]);
  // The first failure is reported.
  const [result, [answer]] = await Promise.all([work().finally(() => bystander.send('stop')), told]);
  const tookMs = Joi.attempt(answer, Joi.array<number[]>().items(Joi.number()).min(1)).toSorted((a, b) => a - b);
  return { worstMs: tookMs.at(-1) ?? 0, p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? 0, result };
}

export async function closeClients(): Promise<void> {
  await agent.destroy();
}
