/**
 * `npm run bench:polls`: how often each vendor is polled about a render of a minute, by its adapter's pace. Prints the
 * table of docs/vendors/polls.md.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../db/database.ts';
import { type Counter, placeOrder, type VendorOrder } from '../drill/vendors/orders.ts';
import { readOutcomes } from '../drill/vendors/outcomes.ts';
import { CATALOGUE_OF_VENDORS, nameOf, vendorProducts } from '../drill/vendors/products.ts';
import { openAccount } from '../stack/accounts.ts';
import { type Stack, startStack } from '../stack/stack.ts';

const RENDER_MS = 60_000;
const LIMIT_MS = 3 * RENDER_MS;
const MINUTE = {
  name: 'a minute',
  directive: `render_ms=${RENDER_MS}`,
  endings: () => ['succeeded'],
};

/** A request in the simulator's log. */
interface Logged {
  readonly received_at: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

const stack = await startStack({
  processes: { api: 1, text: 0, worker: 1 },
  settings: { GENWAY_CATALOGUE: CATALOGUE_OF_VENDORS },
  report: console.error,
});
try {
  const apiUrl = stack.apiUrls[0] ?? '';
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, 1_000);
  for (const line of await measure({ apiUrl, apiKey }, stack)) console.log(line);
} finally {
  await stack.stop();
}

async function measure(counter: Counter, { databaseUrl, simulatorUrl }: Stack): Promise<readonly string[]> {
  const products = vendorProducts().filter(({ traits }) => traits.answers === 'job');
  const orders = await Promise.all(products.map((product) => placeOrder(counter, product, MINUTE)));
  const database = createDatabase(databaseUrl, 1);
  const deadline = performance.now() + LIMIT_MS;
  let outcomes = await readOutcomes(orders, { database, simulatorUrl });
  while (outcomes.some(({ ending }) => ending !== 'succeeded') && performance.now() < deadline) {
    await sleep(1_000);
    outcomes = await readOutcomes(orders, { database, simulatorUrl });
  }
  await database.destroy();
  const log = await ask<Logged>(`${simulatorUrl}/_sim/requests?limit=2000`);
  const rows = await Promise.all(orders.map((order) => rowOf(order, log, simulatorUrl)));
  return ['| upstream | asked, in seconds after the submission |', '|---|---|', ...rows];
}

async function rowOf(order: VendorOrder, log: readonly Logged[], simulatorUrl: string): Promise<string> {
  const [render] = await ask<{ id: string }>(`${simulatorUrl}/_sim/renders?mark=${order.mark}`);
  const submission = log.find(({ method, body }) => method === 'POST' && JSON.stringify(body).includes(order.mark));
  if (!render || !submission) throw new Error(`${nameOf(order.product)} was not asked`);
  const polls = log
    // Some vendors take the id in a body.
    .filter(({ path, body }) => JSON.stringify([path, body]).includes(render.id) && !path.includes('/files/'))
    .map(({ received_at: at }) => (Date.parse(at) - Date.parse(submission.received_at)) / 1000);
  return `| ${nameOf(order.product)} | ${polls
    .toReversed()
    .map((seconds) => seconds.toFixed(1))
    .join(', ')} |`;
}

async function ask<Item>(url: string): Promise<readonly Item[]> {
  const { data } = (await (await fetch(url)).json()) as { data: Item[] };
  return data;
}
