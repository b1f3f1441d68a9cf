/**
 * What billing costs. Prints one JSON line:
 *
 * - holds and settlements a second through the billing of one process, on one account and spread over 1,000;
 * - requests a second through the whole gateway beside a bare Node proxy in the same run;
 * - what billing adds to a request, beside the same gateway with its billing taken out, with one client and with 32.
 */
import { randomUUID } from 'node:crypto';
import { cpus } from 'node:os';
import { pino } from 'pino';
import { createTextBilling } from '../db/text-money/create-billing.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { TextOutcome } from '../db/text-money/billing.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { type Caller, findCallers } from '../db/queries/api-keys.ts';
import { mean, rounded } from './statistics.ts';
import { load, MODEL, startTextStack, type Target } from './text-stack.ts';

const ACCOUNTS = 1_000;
const CALLERS_AT_ONCE = 500;
const CLIENTS = 64;
const LATENCY_CLIENTS = [1, 32] as const;
const ROUNDS = 3;
const ROUND_SECONDS = 5;
const OUTCOME: TextOutcome = {
  status: 'succeeded',
  errorCode: null,
  usage: { inputTotal: 120, cacheRead: null, cacheWrite: null, outputTotal: 200, reasoning: null },
  countedOutputTokens: 200,
  upstream: { provider: 'simulator', format: 'chat-completions', model: 'textc-M3' },
  latencyMs: 10,
  firstByteMs: 10,
};

// What is cut short must not leave its servers behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const stack = await startTextStack();
try {
  const ledger = await measureLedger();
  const gateway = await measureGateway();
  const added = await measureAdded(await stack.startGateway('unbilled.js'));
  console.log(
    JSON.stringify({
      holds_and_settlements_per_second_on_one_account: rounded(ledger.oneAccount),
      [`holds_and_settlements_per_second_on_${ACCOUNTS}_accounts`]: rounded(ledger.manyAccounts),
      requests_per_second: rounded(gateway.gateway),
      bare_proxy_requests_per_second: rounded(gateway.proxy),
      share_of_bare_proxy: rounded(gateway.gateway / gateway.proxy, 2),
      ...Object.fromEntries(added),
      clients: CLIENTS,
      cores: cpus().length,
    }),
  );
} finally {
  await stack.stop();
}

/** A hold and its settlement count as one. */
async function measureLedger(): Promise<{ oneAccount: number; manyAccounts: number }> {
  const callers = await createCallers();
  const { database, databaseUrl } = stack;
  const log = pino({ enabled: false });
  const catalogue = loadCatalogue();
  const billing = createTextBilling({
    database,
    databaseUrl,
    catalogue,
    log,
    metrics: createMetrics(),
  });
  const model = catalogue.textModels.get(MODEL);
  if (model === undefined) throw new Error(`${MODEL} is not in the catalogue`);
  const charge = {
    model,
    catalogueVersion: catalogue.version,
    format: 'chat-completions',
    streamed: false,
    estimateInputTokens: () => 150,
    mostInputTokens: 300,
    maxOutputTokens: 400,
    choiceCount: 1,
  } as const;

  async function holdAndSettle(among: readonly Caller[]): Promise<number> {
    const startedAt = performance.now();
    let settled = 0;
    const next = async (): Promise<void> => {
      while (performance.now() - startedAt < ROUND_SECONDS * 1000) {
        const caller = among[settled % among.length];
        if (caller === undefined) throw new Error('there are callers');
        const hold = await billing.hold({ ...charge, caller, requestId: randomUUID(), startedAtMs: Date.now() });
        await hold.settle(OUTCOME);
        settled += 1;
      }
    };
    await Promise.all(Array.from({ length: CALLERS_AT_ONCE }, next));
    return settled / ((performance.now() - startedAt) / 1000);
  }

  try {
    const one = callers.slice(0, 1);
    await holdAndSettle(one);
    return { oneAccount: await holdAndSettle(one), manyAccounts: await holdAndSettle(callers) };
  } finally {
    await billing.close();
  }
}

async function createCallers(): Promise<Caller[]> {
  const digests: Buffer[] = [];
  while (digests.length < ACCOUNTS) digests.push(stack.digest(await stack.createApiKey()));
  const callers = await findCallers(stack.database, digests);
  return callers.filter((caller) => caller !== null);
}

async function measureGateway(): Promise<{ gateway: number; proxy: number }> {
  const { proxy, gateway } = stack;
  for (const target of [proxy, gateway]) await measure(target);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({ proxy: await measure(proxy), gateway: await measure(gateway) });
  }
  return { proxy: mean(rounds.map((round) => round.proxy)), gateway: mean(rounds.map((round) => round.gateway)) };
}

/** Requests a second. */
async function measure(target: Target): Promise<number> {
  return (await load(target, CLIENTS, ROUND_SECONDS)).requestsPerSecond;
}

/** @returns names of figures and milliseconds */
async function measureAdded(unbilled: Target): Promise<[string, number][]> {
  await load(unbilled, CLIENTS, ROUND_SECONDS);
  const figures: [string, number][] = [];
  for (const clients of LATENCY_CLIENTS) {
    const without = await load(unbilled, clients, ROUND_SECONDS);
    const billed = await load(stack.gateway, clients, ROUND_SECONDS);
    const who = clients === 1 ? 'one_client' : `${clients}_clients`;
    figures.push([`added_p50_with_${who}_ms`, rounded(billed.p50Ms - without.p50Ms, 2)]);
    figures.push([`added_p99_with_${who}_ms`, rounded(billed.p99Ms - without.p99Ms, 2)]);
  }
  return figures;
}
