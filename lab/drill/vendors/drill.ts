/** A drill of vendors: every fault of each, kills of the worker during submissions, and the outcome of every task. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, type Database } from '../../../db/database.ts';
import { openAccount } from '../../stack/accounts.ts';
import { startVertexMedia } from '../../stack/clouds/vertex-media.ts';
import { type Built, type SimulatorAccess, type Stack, startStack } from '../../stack/stack.ts';
import type { CheckResult } from '../checks/check.ts';
import { MONEY_CHECKS } from '../checks/money.ts';
import { createRandom } from '../random.ts';
import { checkTokens, checkVendors, isQuiet } from './checks.ts';
import { isEndless, VENDOR_FAULTS, type VendorFault } from './faults.ts';
import { killWorkers } from './kills.ts';
import type { VendorDrillOptions } from './options.ts';
import { type Counter, faultsOf, placeOrder, type VendorOrder } from './orders.ts';
import { type Outcome, readOutcomes } from './outcomes.ts';
import { CATALOGUE_OF_VENDORS, nameOf, type Product, vendorProducts } from './products.ts';
import { describeFaults, describeVendors } from './report.ts';
import { vendorUpstreams } from './upstreams.ts';

const FUNDS_USD = 100_000;
const PAUSE_MS = 500;
const WAITS_PER_LINE = 40;

/**
 * Runs a drill against a stack of its own, and stops the stack.
 *
 * @param place `home` is the folder for state and logs, `print` gets each line about the outcomes of the tasks
 * @returns the findings of the checks
 * @throws Error when the stack does not start
 */
export async function runVendorDrill(
  options: VendorDrillOptions,
  { home, built, print }: { home: string; built?: Built; print: (line: string) => void },
): Promise<readonly CheckResult[]> {
  let simulator: SimulatorAccess | undefined;
  const vertex = await startVertexMedia(() => ({
    url: `${simulator?.url}/vendors/vertex`,
    key: simulator?.apiKey ?? '',
  }));
  const stack = await startStack({
    home,
    upstreams: (access) => {
      simulator = access;
      return vendorUpstreams(access, vertex);
    },
    processes: { api: 1, text: 0, worker: 1 },
    isTemporalKept: true,
    postgres: { fsync: 'off' },
    settings: {
      GENWAY_CATALOGUE: CATALOGUE_OF_VENDORS,
      GENWAY_PROVIDER_CALLBACKS: 'true',
      GENWAY_POLL_MS: '500',
      GENWAY_TASK_DEADLINE_S: String(options.taskDeadlineMs / 1000),
      GENWAY_LOG_LEVEL: 'warn',
    },
    ...(built && { built }),
    report: print,
  });
  const database = createDatabase(stack.databaseUrl, 4);
  try {
    return [...(await drill(options, { stack, database, print })), checkTokens(vertex)];
  } finally {
    await database.destroy();
    await stack.stop();
    await vertex.stop();
  }
}

async function drill(
  { seed, copies, kills: leastKills, loadPerKill, quietMs }: VendorDrillOptions,
  { stack, database, print }: { stack: Stack; database: Database; print: (line: string) => void },
): Promise<readonly CheckResult[]> {
  const products = vendorProducts();
  const apiUrl = stack.apiUrls[0] ?? '';
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, FUNDS_USD);
  const counter = { apiUrl, apiKey };
  const evidence = { database, simulatorUrl: stack.simulatorUrl };

  const [endless, faults] = [VENDOR_FAULTS.filter(isEndless), VENDOR_FAULTS.filter((fault) => !isEndless(fault))];
  const unending = await placeEverywhere(counter, products, endless, copies);
  const calm = await placeEverywhere(counter, products, faults, copies);
  print(`${unending.length + calm.length} tasks of ${products.map(nameOf).join(', ')}`);
  await waitForQuiet(calm, { ...evidence, quietMs, print });
  print('the worker is killed from here on');
  const random = createRandom(seed);
  const field = { stack, database, counter, products, faults, random, print };
  const kills = await killWorkers(field, leastKills, loadPerKill);
  print(`the worker was killed ${kills.rounds} times`);
  const outcomes = await waitForQuiet([...unending, ...calm, ...kills.orders], { ...evidence, quietMs, print });

  for (const line of describeFaults(outcomes)) print(line);
  for (const line of describeVendors(outcomes, kills)) print(line);
  const results = [...checkVendors(outcomes, products, { kills: kills.counts, leastKills })];
  for (const check of MONEY_CHECKS) results.push(await check({ database, stack }));
  return results;
}

/** Every fault at every vendor, this many times. */
async function placeEverywhere(
  counter: Counter,
  products: readonly Product[],
  faults: readonly VendorFault[],
  copies: number,
): Promise<readonly VendorOrder[]> {
  const orders: VendorOrder[] = [];
  for (let copy = 0; copy < copies; copy += 1) {
    const placed = products.flatMap((product) =>
      faultsOf(product, faults).map((fault) => placeOrder(counter, product, fault)),
    );
    orders.push(...(await Promise.all(placed)));
  }
  return orders;
}

/** @returns the outcomes of the orders once no work is in progress, or `quietMs` later */
async function waitForQuiet(
  orders: readonly VendorOrder[],
  {
    quietMs,
    print,
    ...evidence
  }: Parameters<typeof readOutcomes>[1] & { quietMs: number; print: (line: string) => void },
): Promise<readonly Outcome[]> {
  const beganAt = performance.now();
  for (let waits = 1; ; waits += 1) {
    const outcomes = await readOutcomes(orders, evidence);
    const busy = outcomes.filter((outcome) => !isQuiet(outcome));
    if (busy.length === 0 || performance.now() - beganAt > quietMs) return outcomes;
    if (waits % WAITS_PER_LINE === 0) print(`waiting for ${busy.length} of ${outcomes.length} tasks`);
    await sleep(PAUSE_MS);
  }
}
