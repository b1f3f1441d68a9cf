/**
 * Whatever clients send, and however many requests run at once, an account or key costs the operator at most the price
 * of 1,024 output tokens per request beyond its balance. Clients are random; the upstream generates as much as it may.
 */
import { expect } from 'chai';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  double,
  integer,
  oneof,
  option,
  record,
} from 'fast-check';
import { picoUsd } from '../../../db/database.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { parseUsd, type PicoUsd } from '../../../domain/money.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { createAccount, reloadAccount } from '../../support/factories.ts';
import { ASK, modelVia, useTestText, type TestText } from '../../support/text.ts';
import { casesOf } from '../../support/properties.ts';

const RUNS = casesOf(60);
/** 4 USD per million output tokens, the price of the models of these tests. */
const TOLERANCE: PicoUsd = 1_024n * 4_000_000n;
/** The fields of each format for the bound and for the number of answers. */
const BOUND_FIELDS: Readonly<Record<WireFormatName, (bound: number) => JsonObject>> = {
  'chat-completions': (bound) => ({ max_completion_tokens: bound }),
  responses: (bound) => ({ max_output_tokens: bound }),
  messages: (bound) => ({ max_tokens: bound }),
  'generate-content': (bound) => ({ generationConfig: { maxOutputTokens: bound } }),
};

const client = record({
  format: constantFrom(...WIRE_FORMAT_NAMES),
  upstream: constantFrom(...WIRE_FORMAT_NAMES),
  stream: boolean(),
  bound: oneof(constant(null), integer({ min: 1, max: 4_000 }), integer({ min: 1, max: 100_000 })),
  choices: oneof(constant(1), integer({ min: 2, max: 8 })),
  // Genway receives all of the answer, or almost nothing.
  output: oneof(
    record({ said: constant(true), tokens: integer({ min: 1, max: 300 }) }),
    record({ said: constant(false), tokens: constantFrom(20, 5_000, 50_000, 400_000) }),
  ),
  leavesAfterMs: option(integer({ min: 0, max: 100 }), { freq: 1 }),
  fails: oneof(constant(false), boolean()),
});
type Client = typeof client extends { generate(...args: never[]): { value: infer Value } } ? Value : never;

const scenario = record({
  balanceUsd: double({ min: 0.01, max: 0.2, noNaN: true }),
  keyLimitUsd: option(double({ min: 0.01, max: 0.2, noNaN: true }), { freq: 1 }),
  clients: array(client, { minLength: 6, maxLength: 12, size: 'max' }),
  rounds: constant(2),
});

describe('a text request', () => {
  const text = useTestText();

  let answered = 0;

  it('costs the operator next to nothing beyond the balance of its account and the limit of its key', async () => {
    await assert(
      asyncProperty(scenario, async ({ balanceUsd, keyLimitUsd, clients, rounds }) => {
        const balance = parseUsd(balanceUsd.toFixed(6));
        const usageLimit = keyLimitUsd === null ? null : parseUsd(keyLimitUsd.toFixed(6));
        const account = await createAccount(text.database, { fundedUsd: Number(balanceUsd.toFixed(6)) });
        const apiKey = await text.createKey({ usageLimit }, account.id);
        for (let round = 0; round < rounds; round += 1) {
          const statuses = await Promise.all(clients.map((one) => send(text, apiKey, one)));
          answered += statuses.filter((status) => status === 200).length;
          await text.idle();
        }

        const { charged, absorbed } = await booksOf(text, account.id);
        const tolerance = BigInt(clients.length * rounds) * TOLERANCE;
        const { fundedAvailable } = await waitUntil(
          async () => {
            const reloaded = await reloadAccount(text.database, account);
            expect(reloaded.fundedReserved).to.equal(0n);
            return reloaded;
          },
          { timeoutMs: PATIENCE_MS },
        );
        expect(fundedAvailable).to.equal(balance - (charged - absorbed));
        expect(absorbed <= tolerance, `${absorbed} absorbed`).to.equal(true);
        if (usageLimit !== null) expect(charged <= usageLimit + tolerance, `${charged} charged`).to.equal(true);
        // Otherwise the upstreams would have generated more than the ledger shows.
        expect(await text.measured()).to.not.match(/genway_text_usage_clamped_total\{/);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(answered).to.be.greaterThan(2 * RUNS);
  });
});

/** @returns the status of the answer; null for a client that left */
async function send(text: TestText, apiKey: string, one: Client): Promise<number | null> {
  const { path, body } = ASK[one.format](modelVia(one.upstream), promptOf(one), one.stream);
  const bounded = one.bound === null ? body : { ...body, ...BOUND_FIELDS[one.format](one.bound) };
  const leaving = new AbortController();
  const timer = one.leavesAfterMs === null ? undefined : setTimeout(() => leaving.abort(), one.leavesAfterMs);
  try {
    const answer = await text.post(path, withChoices(one, bounded), { apiKey, signal: leaving.signal });
    await answer.text();
    return answer.status;
  } catch (error) {
    // A stream whose format has no frame for errors is cut off.
    if (!leaving.signal.aborted && !(error instanceof TypeError)) throw error;
    return null;
  } finally {
    clearTimeout(timer);
  }
}

function promptOf({ output: { said, tokens }, fails }: Client): string {
  return `Go on. [sim:tokens=${tokens}${said ? '' : ',say=x'}${fails ? ',fail=processing_failed,fail_after=20' : ''}]`;
}

function withChoices({ format, choices }: Client, body: JsonObject): JsonObject {
  if (choices === 1) return body;
  if (format === 'chat-completions') return { ...body, n: choices };
  if (format !== 'generate-content') return body;
  return { ...body, generationConfig: { ...Object(body['generationConfig']), candidateCount: choices } };
}

async function booksOf({ database }: TestText, accountId: string): Promise<{ charged: PicoUsd; absorbed: PicoUsd }> {
  const [sums] = await database('text_requests')
    .where('account_id', accountId)
    .sum<{ charged: string | null; absorbed: string | null }[]>({ charged: 'charge', absorbed: 'absorbed' });
  return { charged: picoUsd(sums?.charged ?? '0'), absorbed: picoUsd(sums?.absorbed ?? '0') };
}
