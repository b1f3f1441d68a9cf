/**
 * Measures the cost of billing. Prints one JSON line:
 *
 * - holds and settlements a second through the billing of one process, on one account and spread over 1,000;
 * - requests a second through the whole gateway beside a bare Node proxy in the same run;
 * - the time that billing adds to a request, beside the same gateway without billing, with one client and with 32.
 */
import { cpus } from 'node:os';
import { loadLedger } from './ledger-load/run.ts';
import { mean, rounded } from './statistics.ts';
import { load, startTextStack, type Target } from './text-stack.ts';

const ACCOUNTS = 1_000;
const REQUESTS_AT_ONCE = 500;
const CLIENTS = 64;
const LATENCY_CLIENTS = [1, 32] as const;
const ROUNDS = 3;
const ROUND_SECONDS = 5;

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
  const digests: Buffer[] = [];
  while (digests.length < ACCOUNTS) digests.push(stack.digest(await stack.createApiKey()));
  const settledPerSecond = async (accounts: number): Promise<number> => {
    const settings = { processes: 1, seconds: ROUND_SECONDS, requestsAtOnce: REQUESTS_AT_ONCE };
    const [load] = await loadLedger(stack, { ...settings, digests: digests.slice(0, accounts) });
    return load?.perSecond ?? 0;
  };
  await settledPerSecond(1);
  return { oneAccount: await settledPerSecond(1), manyAccounts: await settledPerSecond(ACCOUNTS) };
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
