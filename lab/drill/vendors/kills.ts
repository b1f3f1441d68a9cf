/** Kills the worker during submissions to every vendor, at a random moment, under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../db/database.ts';
import type { Stack } from '../../stack/stack.ts';
import type { Random } from '../random.ts';
import { ENDINGS_OF_KILLS, SLOW_ANSWER, type VendorFault } from './faults.ts';
import { type Counter, faultsOf, placeOrder, type VendorOrder } from './orders.ts';
import { nameOf, type Product } from './products.ts';

interface Field {
  readonly stack: Stack;
  readonly database: Database;
  readonly counter: Counter;
  readonly products: readonly Product[];
  /** The faults that the load contains. */
  readonly faults: readonly VendorFault[];
  readonly random: Random;
  readonly print: (line: string) => void;
}

export interface Kills {
  readonly orders: readonly VendorOrder[];
  readonly rounds: number;
  /** How often the worker was killed inside a submission or a render of each product. */
  readonly counts: ReadonlyMap<string, number>;
}

const MOST_ROUNDS_FOR_ONE_KILL = 4;
const ROUNDS_PER_LINE = 5;
/** A killed worker has to restart. */
const BEGUN_WITHIN_MS = 60_000;
/** With the wait that follows, shorter than the vendors take to answer. */
const HANDED_OVER_WITHIN_MS = 9_000;
const PAUSE_MS = 50;
const LONGEST_WAIT_MS = 1_000;

/**
 * @param least the minimum of kills for each product
 * @param loadPerKill the number of tasks of each product with other faults for each kill
 */
export async function killWorkers(field: Field, least: number, loadPerKill: number): Promise<Kills> {
  const orders: VendorOrder[] = [];
  const counts = new Map(field.products.map((product) => [nameOf(product), 0]));
  let rounds = 0;
  while (rounds < least * MOST_ROUNDS_FOR_ONE_KILL && [...counts.values()].some((count) => count < least)) {
    rounds += 1;
    const targets = await placeTargets(field);
    await waitUntilHandedOver(field, targets);
    orders.push(...targets, ...(await placeLoad(field, loadPerKill)));
    await sleep(field.random.integer(0, LONGEST_WAIT_MS));
    const hit = await productsInSubmission(field, targets);
    await killAll(field.stack);
    for (const name of hit) counts.set(name, (counts.get(name) ?? 0) + 1);
    if (rounds % ROUNDS_PER_LINE === 0) field.print(`the worker was killed ${rounds} times`);
  }
  return { orders, rounds, counts };
}

function placeTargets({ products, counter }: Field): Promise<VendorOrder[]> {
  return Promise.all(
    products.map((product) => placeOrder(counter, product, SLOW_ANSWER[product.traits.answers], ENDINGS_OF_KILLS)),
  );
}

function placeLoad({ products, faults, counter, random }: Field, perProduct: number): Promise<VendorOrder[]> {
  return Promise.all(
    products.flatMap((product) =>
      random
        .shuffled(faultsOf(product, faults))
        .slice(0, perProduct)
        .map((fault) => placeOrder(counter, product, fault, ENDINGS_OF_KILLS)),
    ),
  );
}

async function killAll({ members }: Stack): Promise<void> {
  await Promise.all(members.filter(({ role }) => role === 'worker').map((worker) => worker.kill(0)));
}

/** Waits until every target has a submission in progress, or the first of them soon completes. */
async function waitUntilHandedOver(field: Field, targets: readonly VendorOrder[]): Promise<void> {
  const deadline = performance.now() + BEGUN_WITHIN_MS;
  let firstAt = Infinity;
  for (;;) {
    const { size } = await openSubmissions(field, targets);
    const now = performance.now();
    if (size > 0) firstAt = Math.min(firstAt, now);
    if (size === targets.length || now - firstAt > HANDED_OVER_WITHIN_MS || now > deadline) return;
    await sleep(PAUSE_MS);
  }
}

async function productsInSubmission(field: Field, targets: readonly VendorOrder[]): Promise<readonly string[]> {
  const open = await openSubmissions(field, targets);
  return targets.filter(({ taskId }) => open.has(taskId)).map(({ product }) => nameOf(product));
}

async function openSubmissions({ database }: Field, targets: readonly VendorOrder[]): Promise<ReadonlySet<string>> {
  const rows = await database<{ task_id: string; outcome: string | null }>('submissions')
    .whereIn(
      'task_id',
      targets.map(({ taskId }) => taskId),
    )
    .whereNull('outcome')
    .select('task_id');
  return new Set(rows.map(({ task_id: taskId }) => taskId));
}
