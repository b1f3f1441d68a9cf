/**
 * Measures the load of one account and one database, and whether many processes stay exact. Prints a JSON line each:
 *
 * - holds and settlements a second by 1, 4 and 16 processes, on one account and spread over 1,000, with the time of a
 *   hold, and the smallest share of a process;
 * - requests through 4 text processes at once, with the account's balance checked against the charges;
 * - media tasks through 2 api processes and 2 workers at once, with the renders and every balance checked.
 */
import { cpus } from 'node:os';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { parseUsd } from '../../domain/money.ts';
import { bytesOf } from './load/database.ts';
import { loadLedger } from './ledger-load/run.ts';
import { mean, rounded } from './statistics.ts';
import { loadAtAnyRate, startTextStack, type Target } from './text-stack.ts';
import { measureManyProcesses } from './task-load/many-processes.ts';

const PROCESSES = [1, 4, 16] as const;
const REQUESTS_AT_ONCE = 256;
const SECONDS = 5;
const ACCOUNTS = 1_000;
const TEXT_PROCESSES = 4;
const CLIENTS_EACH = 16;
/** Processes keep small allowances for a minute. */
const SETTLED_WITHIN_MS = 90_000;

const stack = await startTextStack();
try {
  const digests: Buffer[] = [];
  while (digests.length < ACCOUNTS) digests.push(stack.digest(await stack.createApiKey()));
  for (const accounts of [1, ACCOUNTS]) {
    for (const processes of PROCESSES) await measureLedger(processes, digests.slice(0, accounts));
  }
  await measureTextProcesses();
  await whenNothingIsHeld();
  await expectNothingLost();
} finally {
  await stack.stop();
}
await measureTasks();

async function measureLedger(processes: number, digests: readonly Buffer[]): Promise<void> {
  const requestsAtOnce = REQUESTS_AT_ONCE / processes;
  const loads = await loadLedger(stack, { processes, seconds: SECONDS, requestsAtOnce, digests });
  const perSecond = loads.map((load) => load.perSecond);
  const total = perSecond.reduce((sum, each) => sum + each, 0);
  console.log(
    JSON.stringify({
      processes,
      accounts: digests.length,
      requests_at_once: REQUESTS_AT_ONCE,
      holds_and_settlements_per_second: rounded(total),
      least_share_of_a_fair_share: rounded((Math.min(...perSecond) * processes) / total, 2),
      hold_p50_ms: rounded(mean(loads.map(({ holdP50Ms }) => holdP50Ms))),
      hold_p99_ms: rounded(Math.max(...loads.map(({ holdP99Ms }) => holdP99Ms))),
      settle_p50_ms: rounded(mean(loads.map(({ settleP50Ms }) => settleP50Ms))),
      cores: cpus().length,
    }),
  );
}

/** All of them serve the same account. */
async function measureTextProcesses(): Promise<void> {
  const targets: Target[] = [stack.gateway];
  while (targets.length < TEXT_PROCESSES) targets.push(await stack.startGateway());
  const loads = await Promise.all(targets.map((target) => loadAtAnyRate(target, CLIENTS_EACH, SECONDS)));
  const rates = loads.map(({ requestsPerSecond }) => requestsPerSecond);
  const total = rates.reduce((sum, each) => sum + each, 0);
  console.log(
    JSON.stringify({
      text_processes: TEXT_PROCESSES,
      clients: TEXT_PROCESSES * CLIENTS_EACH,
      requests_per_second: rounded(total),
      least_share_of_a_fair_share: rounded((Math.min(...rates) * TEXT_PROCESSES) / total, 2),
      failed: loads.reduce((sum, { failed }) => sum + failed, 0),
      p50_ms: rounded(mean(loads.map(({ p50Ms }) => p50Ms))),
      p99_ms: rounded(Math.max(...loads.map(({ p99Ms }) => p99Ms))),
      cores: cpus().length,
    }),
  );
}

/** @throws Error when a task was not rendered once, or a balance is wrong */
async function measureTasks(): Promise<void> {
  const measured = await measureManyProcesses();
  console.log(JSON.stringify({ ...measured, cores: cpus().length }));
  const wrong = measured.rendered_more_or_less_than_once + measured.accounts_with_a_wrong_balance;
  if (wrong > 0) throw new Error('not every task was rendered and charged once');
}

/** Waits for requests whose clients left; they settle a moment later. */
async function whenNothingIsHeld(): Promise<void> {
  await waitUntil(
    async () => {
      const held = await stack.database('text_allowances').first('id');
      if (held) throw new Error('something is still held');
    },
    { timeoutMs: SETTLED_WITHIN_MS },
  );
}

/** @throws Error when a balance is not the top-ups less the charges, or money is still held */
async function expectNothingLost(): Promise<void> {
  const { rows } = await stack.database.raw<{ rows: { accounts: string; wrong: string; requests: string }[] }>(
    `SELECT count(*) AS accounts, coalesce(sum(requests), 0) AS requests,
      count(*) FILTER (WHERE funded_available + coalesce(charged, 0) <> :initial OR funded_reserved <> 0) AS wrong
    FROM accounts LEFT JOIN (SELECT account_id, sum(charge) AS charged, count(*) AS requests FROM text_requests GROUP BY account_id)
      AS used ON used.account_id = accounts.id`,
    { initial: parseUsd(1_000_000).toString() },
  );
  const [found] = rows;
  const bytes = await bytesOf(stack.database, ['text_requests', 'transfers']);
  console.log(
    JSON.stringify({
      requests: Number(found?.requests),
      database_bytes_of_a_request: Math.round(bytes / Number(found?.requests)),
      accounts: Number(found?.accounts),
      wrong: Number(found?.wrong),
    }),
  );
  if (Number(found?.wrong) !== 0) throw new Error(`the balances of ${found?.wrong} accounts are wrong`);
}
